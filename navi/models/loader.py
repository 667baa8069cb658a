"""From a version's directory to a model that may serve."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from navi.core.errors import BackendError, ModelError
from navi.features.encoder import Encoder
from navi.features.vocabulary import Vocabulary
from navi.models.backend import Backend
from navi.models.manifest import check_manifest
from navi.models.options import ModelOptions, Provider
from navi.models.probe import TOLERANCE, row_difference
from navi.models.signature_check import check_outputs, check_signature
from navi.models.spec import ModelSpec, load_spec
from navi.models.synthetic import synthetic_inputs

_PROBE_ROWS = 16


@dataclass(frozen=True, slots=True, eq=False)
class LoadedModel:
    """A checked and warmed model, with what its inputs are made by.

    digest: of the version's manifest. difference: the largest relative difference that company made to a row's outputs,
    as `row_difference` has it. provider: where it runs, and what was asked for in vain.
    """

    spec: ModelSpec
    backend: Backend
    encoder: Encoder
    digest: str
    difference: float
    provider: str

    @property
    def row_independent(self) -> bool:
        """Whether rows of several requests may share a run."""
        return self.difference <= TOLERANCE


def load_model(directory: Path, options: ModelOptions) -> LoadedModel:
    """Check, load, warm and probe a model version (`model.toml`, `manifest.json` and what they name).

    Raises ModelError where files are not those of the manifest, where the model is not what `model.toml` says, where it
    fails or gives anything not finite on a synthetic batch, or where its provider is not here.
    """
    digest = check_manifest(directory)
    spec = load_spec(directory)
    vocabularies = {name: Vocabulary.load(directory / path) for name, path in spec.vocabularies.items()}
    sizes = {name: vocabulary.size for name, vocabulary in vocabularies.items()}
    backend = _open(directory, spec, options)
    try:
        check_signature(spec, backend.signature)
        difference = _try_out(spec, sizes, backend, options.max_rows)
    except BackendError as error:
        backend.close()
        raise ModelError(f"model {spec.name!r} fails on a synthetic batch: {error}") from error
    except ModelError:
        backend.close()
        raise
    asked = backend.provider.startswith(options.provider)
    provider = backend.provider if asked else f"{backend.provider} (asked for {options.provider})"
    return LoadedModel(spec, backend, Encoder(spec.inputs, vocabularies), digest, difference, provider)


def _try_out(spec: ModelSpec, sizes: dict[str, int], backend: Backend, max_rows: int) -> float:
    backend.warm((1, max_rows))
    random = np.random.default_rng(0)
    inputs = synthetic_inputs(spec.inputs, sizes, _PROBE_ROWS, random)
    check_outputs(spec, backend.run(inputs), _PROBE_ROWS)
    return row_difference(backend, inputs, random)


def _open(directory: Path, spec: ModelSpec, options: ModelOptions) -> Backend:
    """The backends are imported here, so that each needs its package only where it is used."""
    name = spec.files.get(options.format)
    if name is None:
        raise ModelError(f"{directory}: the model has no {options.format} file, only: {', '.join(spec.files)}")
    try:
        if options.format == "onnx":
            return _open_onnx(directory / name, options)
        return _open_torch(directory / name, spec, options)
    except ModuleNotFoundError as error:
        extra = "torch" if options.format == "pt2" else "cpu"
        raise ModelError(f"{directory}: {error}; install navi-ranking[{extra}]") from error


def _open_onnx(path: Path, options: ModelOptions) -> Backend:
    from navi.models.onnx_backend import OnnxBackend

    # What TensorRT cannot run is left to CUDA.
    providers: list[Provider] = ["tensorrt", "cuda"] if options.provider == "tensorrt" else [options.provider]
    return OnnxBackend.load(path, providers=providers, allow_fallback=options.allow_fallback, threads=options.threads)


def _open_torch(path: Path, spec: ModelSpec, options: ModelOptions) -> Backend:
    if not options.trusted:
        raise ModelError(
            f"{path}: a pt2 archive is code; it is loaded only where the configuration says `trusted = true`"
        )
    from navi.models.torch_backend import TorchBackend, has_device

    device: str = options.provider
    if options.allow_fallback and not has_device(device):
        device = "cpu"
    outputs = [output.name for output in spec.outputs]
    return TorchBackend.load(path, outputs, device=device, compile=options.compile, threads=options.threads)
