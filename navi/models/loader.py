"""From a version's directory to a model that may serve."""

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from navi.core.errors import BackendError, ModelError
from navi.features.encoder import Encoder
from navi.features.vocabulary import Vocabulary
from navi.models.backend import Backend
from navi.models.manifest import checked_digest
from navi.models.opening import open_backend, provider_shown
from navi.models.options import ModelOptions
from navi.models.probe import TOLERANCE, row_difference
from navi.models.signature_check import check_outputs, check_signature
from navi.models.spec import ModelSpec, load_spec
from navi.models.synthetic import synthetic_inputs

_PROBE_ROWS = 16


@dataclass(frozen=True, slots=True, eq=False)
class LoadedModel:
    """A checked and warmed model, with what its inputs are made by.

    digest: of the version's manifest. difference: the largest relative difference that company made to a row's outputs,
    as `row_difference` has it. provider: where it runs, and what was asked for in vain. load_s: seconds from opening
    its files to having warmed and probed it. format: of the file that it was opened from (`onnx`, `pt2`).
    """

    spec: ModelSpec
    backend: Backend
    encoder: Encoder
    digest: str
    difference: float
    provider: str
    load_s: float = 0.0
    format: str = "onnx"

    @property
    def row_independent(self) -> bool:
        """Whether rows of several requests may share a run."""
        return self.difference <= TOLERANCE


def load_model(directory: Path, options: ModelOptions) -> LoadedModel:
    """Check, load, warm and probe a model version (`model.toml`, `manifest.json` and what they name).

    Raises ModelError where files are not those of the manifest, where the model is not what `model.toml` says, where it
    fails or gives anything not finite on a synthetic batch, or where its provider is not here.
    """
    started = time.perf_counter()
    digest = checked_digest(directory, required=options.manifest_required)
    spec = load_spec(directory)
    vocabularies = {name: Vocabulary.load(directory / path) for name, path in spec.vocabularies.items()}
    sizes = {name: vocabulary.size for name, vocabulary in vocabularies.items()}
    backend = _open(directory, spec, options, digest)
    try:
        check_signature(spec, backend.signature)
        difference = _try_out(spec, sizes, backend, options.max_rows)
    except BackendError as error:
        backend.close()
        raise ModelError(f"model {spec.name!r} fails on a synthetic batch: {error}") from error
    except ModelError:
        backend.close()
        raise
    provider = provider_shown(backend, options)
    encoder = Encoder(spec.inputs, vocabularies)
    load_s = time.perf_counter() - started
    return LoadedModel(spec, backend, encoder, digest, difference, provider, load_s, options.format)


def _try_out(spec: ModelSpec, sizes: dict[str, int], backend: Backend, max_rows: int) -> float:
    backend.warm((1, max_rows))
    random = np.random.default_rng(0)
    inputs = synthetic_inputs(spec.inputs, sizes, _PROBE_ROWS, random)
    check_outputs(spec, backend.run(inputs), _PROBE_ROWS)
    return row_difference(backend, inputs, random)


def _open(directory: Path, spec: ModelSpec, options: ModelOptions, digest: str) -> Backend:
    name = spec.files.get(options.format)
    if name is None:
        raise ModelError(f"{directory}: the model has no {options.format} file, only: {', '.join(spec.files)}")
    return open_backend(directory / name, options, [output.name for output in spec.outputs], digest=digest)
