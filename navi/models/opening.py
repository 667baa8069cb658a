"""From a model's file to the backend that runs it."""

from collections.abc import Sequence
from pathlib import Path

from navi.core.errors import ModelError
from navi.models.backend import Backend
from navi.models.options import ModelOptions, Provider

PLATFORMS = {"onnx": "onnxruntime_onnx", "pt2": "pytorch_export"}
"""By the format of a model's file, as KServe names what runs it."""


def open_backend(path: Path, options: ModelOptions, outputs: Sequence[str] = (), *, digest: str) -> Backend:
    """Open an ONNX file or, where it is trusted, a pt2 archive, as `options.format` says.

    outputs: names for what an archive returns; its own where there are none. digest: of the version that it belongs to,
    which has been checked. Raises ModelError where the options do not allow it, or where it cannot be opened. The
    backends are imported here, so that each needs its package only where it is used.
    """
    _check_allowed(path, options, digest)
    try:
        return _open_onnx(path, options) if options.format == "onnx" else _open_torch(path, options, outputs)
    except ModuleNotFoundError as error:
        extra = "torch" if options.format == "pt2" else "cpu"
        raise ModelError(f"{path}: {error}; install navi-ranking[{extra}]") from error


def provider_shown(backend: Backend, options: ModelOptions) -> str:
    """Where a model runs, and what was asked for in vain."""
    asked = backend.provider.startswith(options.provider)
    return backend.provider if asked else f"{backend.provider} (asked for {options.provider})"


def _check_allowed(path: Path, options: ModelOptions, digest: str) -> None:
    """Before anything of the file is read: what may be code is what the operator has named."""
    if options.format == "pt2" and not options.trusted:
        raise ModelError(
            f"{path}: a pt2 archive is code; it is loaded only where the configuration says `trusted = true`"
        )
    if digest not in options.digests and (options.digests or options.format == "pt2"):
        raise ModelError(f"{path}: its version's digest is none of the configuration's `digests`; it is {digest}")


def _open_onnx(path: Path, options: ModelOptions) -> Backend:
    from navi.models.onnx_backend import OnnxBackend

    # What TensorRT cannot run is left to CUDA.
    providers: list[Provider] = ["tensorrt", "cuda"] if options.provider == "tensorrt" else [options.provider]
    return OnnxBackend.load(path, providers=providers, allow_fallback=options.allow_fallback, threads=options.threads)


def _open_torch(path: Path, options: ModelOptions, outputs: Sequence[str]) -> Backend:
    from navi.models.torch_backend import TorchBackend, has_device

    device: str = options.provider
    if options.allow_fallback and not has_device(device):
        device = "cpu"
    return TorchBackend.load(path, outputs, device=device, compile=options.compile, threads=options.threads)
