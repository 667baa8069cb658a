"""Models of other people's tools, served as they are: tensors in, tensors out, and no transforms of Navi's."""

import time
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from navi.core.errors import BackendError, ModelError
from navi.features.inputs import Strict
from navi.models.backend import Backend, Signature
from navi.models.layout import Layout, try_out
from navi.models.manifest import checked_digest
from navi.models.opening import PLATFORMS, open_backend, provider_shown
from navi.models.options import ModelOptions
from navi.models.spec import SPEC_FILE, InsidePath


class PlainSpec(Strict):
    """The whole of a plain model's `model.toml`, which may also be left out: the file is then `model.onnx`."""

    name: str | None = Field(default=None, description="Checked against the name that the model is served by.")
    version: int | None = Field(default=None, ge=1)
    files: Mapping[Literal["onnx", "pt2"], InsidePath] = Field(
        default={"onnx": "model.onnx", "pt2": "model.pt2"}, min_length=1, description="The same model by format."
    )


@dataclass(frozen=True, slots=True, eq=False)
class PlainModel:
    """A model that was opened and tried out. signature: as callers see it, free where the model takes several sizes.

    digest: of the version's files. row_independent: whether its rows were compared, and company changes none.
    provider: where it runs, and what was asked for in vain. load_s: seconds from opening its files to the last trial.
    """

    name: str
    version: int
    platform: str
    signature: Signature
    backend: Backend
    layout: Layout
    digest: str
    row_independent: bool
    provider: str
    load_s: float


def is_plain(directory: Path) -> bool:
    """Whether a version's directory holds a plain model: no `model.toml`, or one that declares no inputs."""
    path = directory / SPEC_FILE
    return not path.exists() or "inputs" not in _read(path)


def load_plain(directory: Path, options: ModelOptions, *, name: str, version: int) -> PlainModel:
    """Check, open and try out a plain model.

    Raises ModelError where files are not those of the manifest, where `model.toml` names another model, where the file
    cannot be opened or takes or gives anything but tensors, where its provider is not here, or where ordinary inputs
    give outputs that are not finite.
    """
    started = time.perf_counter()
    digest = checked_digest(directory, required=options.manifest_required)
    backend = open_backend(_file(directory, options.format, name, version), options, digest=digest)
    try:
        tried = try_out(backend, options.max_rows)
    except (BackendError, ModelError) as error:
        backend.close()
        raise ModelError(f"model {name!r}: {error}") from error
    return PlainModel(
        name=name,
        version=version,
        platform=PLATFORMS[options.format],
        signature=tried.signature,
        backend=backend,
        layout=tried.layout,
        digest=digest,
        row_independent=tried.layout.calls == "shared",
        provider=provider_shown(backend, options),
        load_s=time.perf_counter() - started,
    )


def _file(directory: Path, kind: Literal["onnx", "pt2"], name: str, version: int) -> Path:
    path = directory / SPEC_FILE
    try:
        spec = PlainSpec.model_validate(_read(path) if path.exists() else {})
    except ValidationError as error:
        found = [f"{'.'.join(map(str, each['loc'])) or 'model'}: {each['msg']}" for each in error.errors()]
        raise ModelError(f"{path}: {'; '.join(found)}") from error
    if spec.name not in (None, name) or spec.version not in (None, version):
        raise ModelError(f"{path}: is of {spec.name} {spec.version}, where {name} {version} is loaded")
    if kind not in spec.files:
        raise ModelError(f"{directory}: the model has no {kind} file, only: {', '.join(spec.files)}")
    return directory / spec.files[kind]


def _read(path: Path) -> dict[str, object]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ModelError(f"{path} cannot be read: {error}") from error
