"""Opening ONNX models with ONNX Runtime: providers, options, and what a model says of itself."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
from onnxruntime.capi import onnxruntime_pybind11_state as native

from navi.core.errors import ModelError
from navi.models.backend import Signature, TensorSpec
from navi.models.onnx_file import source_of
from navi.models.options import Provider

NAMES: dict[Provider, str] = {
    "cpu": "CPUExecutionProvider",
    "cuda": "CUDAExecutionProvider",
    "tensorrt": "TensorrtExecutionProvider",
}
# TF32 keeps 10 bits of a factor: scores would depend on the batch by far more than 1e-5.
_OPTIONS = {NAMES["cuda"]: {"use_tf32": "0"}}
_REPORTED = {NAMES["cpu"]: "cpu", NAMES["cuda"]: "cuda:0", NAMES["tensorrt"]: "tensorrt:0"}
_DTYPES = {
    "tensor(float)": np.float32,
    "tensor(float16)": np.float16,
    "tensor(double)": np.float64,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(int16)": np.int16,
    "tensor(int8)": np.int8,
    "tensor(uint64)": np.uint64,
    "tensor(uint32)": np.uint32,
    "tensor(uint16)": np.uint16,
    "tensor(uint8)": np.uint8,
    "tensor(bool)": np.bool_,
    "tensor(string)": np.object_,
}
ERRORS = (
    native.EPFail,
    native.Fail,
    native.InvalidArgument,
    native.InvalidGraph,
    native.InvalidProtobuf,
    native.NoSuchFile,
    native.NotImplemented,
    native.RuntimeException,
    RuntimeError,
    TypeError,
    ValueError,
)
"""What ONNX Runtime raises: classes of its own, without a common base, and Python's."""

REFUSED_VALUES = (native.InvalidArgument,)
"""Those of them that say that a run's inputs are at fault: a shape that does not fit, an id out of range."""


def open_session(path: Path, providers: Sequence[str], threads: int, *, allow_fallback: bool) -> ort.InferenceSession:
    """A session on `providers` (full names, the CPU last).

    Where they fail and `allow_fallback` is set, it is on the CPU alone. Raises ModelError where there is none, and
    where the file wants weights from outside its directory.
    """
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.execution_mode = ort.ExecutionMode.ORT_SEQUENTIAL
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    # Threads that spin while they wait take the core from the rest of the process.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # A plan of memory is kept for every shape that was ever run: with 1,000 row counts 8 MB more, and no run is faster.
    options.enable_mem_pattern = False
    options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    options.log_severity_level = 3
    # Of bytes ONNX Runtime would not know where the rest lies.
    options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(path.parent))
    chosen = [(name, _OPTIONS.get(name, {})) for name in providers]
    source = source_of(path)
    try:
        # Without `enable_fallback=0` a failing device is replaced by the CPU behind our back, even later, in a run.
        return ort.InferenceSession(source, options, providers=chosen, enable_fallback=0)
    except ERRORS as error:
        if allow_fallback and len(providers) > 1:
            return open_session(path, providers[-1:], threads, allow_fallback=False)
        raise ModelError(f"{path}: ONNX Runtime cannot load it: {error}") from error


def available(path: Path, providers: Sequence[Provider], *, allow_fallback: bool) -> list[str]:
    """Full names of those of `providers` that this ONNX Runtime was built with, the CPU last.

    Raises ModelError where one is missing and `allow_fallback` is not set.
    """
    here = ort.get_available_providers()
    missing = [name for name in providers if NAMES[name] not in here]
    if missing and not allow_fallback:
        known = ", ".join(name for name, full in NAMES.items() if full in here)
        raise ModelError(f"{path}: provider {missing[0]!r} is not in this ONNX Runtime (it has: {known})")
    return [*(NAMES[name] for name in providers if name not in missing and name != "cpu"), NAMES["cpu"]]


def signature_of(path: Path, session: ort.InferenceSession) -> Signature:
    """What the model takes and gives; ModelError where that is anything but tensors."""
    return Signature(
        tuple(_tensor(path, "input", value) for value in session.get_inputs()),
        tuple(_tensor(path, "output", value) for value in session.get_outputs()),
    )


def provider_of(session: ort.InferenceSession) -> str:
    """`cpu`, `cuda:0`, ...; and how many nodes run elsewhere."""
    main = session.get_providers()[0]
    nodes: Counter[str] = Counter()
    for part in session.get_provider_graph_assignment_info():
        nodes[part.ep_name] += len(part.get_nodes())
    elsewhere = [f"{count} on {_REPORTED[name]}" for name, count in nodes.items() if name != main]
    note = f" ({', '.join(elsewhere)} of {nodes.total()} nodes)" if elsewhere else ""
    return f"{_REPORTED[main]}{note}"


def _tensor(path: Path, kind: str, value: Any) -> TensorSpec:
    dtype = _DTYPES.get(value.type)
    if dtype is None:
        raise ModelError(
            f"{path}: {kind} {value.name!r} is {value.type}, where a plain tensor is needed{_hint(value.type)}"
        )
    # A free dimension has a name, no value, or a -1 or 0 that an exporter left.
    shape = tuple(size if isinstance(size, int) and size > 0 else None for size in value.shape)
    named = value.shape[0] if value.shape and isinstance(value.shape[0], str) else ""
    return TensorSpec(value.name, np.dtype(dtype), shape, named)


def _hint(kind: str) -> str:
    if kind.startswith("seq(map("):
        return " (a classifier's probabilities: convert it with zipmap off)"
    if kind.startswith(("seq", "optional", "map", "sparse")):
        return " (end the graph in tensors, one output each)"
    return f" that numpy has (cast {kind.removeprefix('tensor')} to float32 in the graph)"
