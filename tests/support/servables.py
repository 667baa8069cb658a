"""Models that are Python functions, and a directory of them, for the model protocols."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from navi.batching.servable import VersionState
from navi.core.errors import BackendError, InvalidArgument, NotFound, Unavailable
from navi.models.backend import Signature, TensorSpec

DTYPES = {
    "BOOL": np.bool_,
    "INT8": np.int8,
    "INT16": np.int16,
    "INT32": np.int32,
    "INT64": np.int64,
    "UINT8": np.uint8,
    "UINT16": np.uint16,
    "UINT32": np.uint32,
    "UINT64": np.uint64,
    "FP16": np.float16,
    "FP32": np.float32,
    "FP64": np.float64,
    "BYTES": np.object_,
}


def spec(name: str, dtype: object = np.float32, shape: tuple[int | None, ...] = (None, 2)) -> TensorSpec:
    return TensorSpec(name, np.dtype(dtype), shape)


@dataclass
class FakeServable:
    """Answers with `fn(inputs)`; remembers the deadline and priority of each call."""

    name: str
    signature: Signature
    fn: Callable[[Mapping], dict]
    version: int = 1
    max_rows: int = 0
    platform: str = "fake"
    resident: frozenset[str] = frozenset()
    calls: list = field(default_factory=list)

    def run(self, inputs, deadline, priority):
        self.calls.append((deadline, priority))
        known = {each.name: each for each in self.signature.inputs}
        for name in sorted(known.keys() ^ inputs.keys()):
            raise InvalidArgument(f"inputs[{name}]", "is missing" if name in known else "is not known")
        for name, values in inputs.items():
            if values.dtype != known[name].dtype:
                raise InvalidArgument(f"inputs[{name}]", f"is {values.dtype}, not {known[name].dtype}")
            if not _fits(values.shape, known[name].shape):
                raise InvalidArgument(f"inputs[{name}]", f"is {values.shape}, not {known[name].shape}")
        return self.fn(inputs)


def _fits(shape, wanted) -> bool:
    sizes = zip(shape, wanted, strict=False)
    return len(shape) == len(wanted) and all(free is None or size == free for size, free in sizes)


def echo(name: str, dtype: object, **more) -> FakeServable:
    """One input `x`, one output `y`: the same values."""
    signature = Signature((spec("x", dtype, (None, None)),), (spec("y", dtype, (None, None)),))
    return FakeServable(name, signature, lambda inputs: {"y": inputs["x"]}, **more)


def sums(name: str = "sums", **more) -> FakeServable:
    """Inputs a [rows, 2] and b [rows]; outputs `sum` [rows] and `both` [rows, 3]. A negative b is out of its range."""

    def fn(inputs):
        if (inputs["b"] < 0).any():
            raise BackendError("b is out of its range", by_values=True)
        total = inputs["a"].sum(axis=1) + inputs["b"]
        return {"sum": total.astype(np.float32), "both": np.column_stack([inputs["a"], inputs["b"]]).astype(np.float32)}

    inputs = (spec("a"), spec("b", np.int64, (None,)))
    return FakeServable(
        name, Signature(inputs, (spec("sum", shape=(None,)), spec("both", shape=(None, 3)))), fn, **more
    )


@dataclass
class Shelf:
    """A `ModelDirectory`: servables by their versions, and states of versions that are not here."""

    servables: list[FakeServable]
    labels: dict[tuple[str, str], int] = field(default_factory=dict)
    others: list = field(default_factory=list)
    keys: list[str] = field(default_factory=list)

    def find(self, name, *, version=None, label=None, key=""):
        self.keys.append(key)
        here = {each.version: each for each in self.servables if each.name == name}
        if label is not None:
            if (name, label) not in self.labels:
                raise NotFound(f"version label of model {name!r}", label)
            version = self.labels[name, label]
        if version is None and here:
            return here[max(here)]
        if version in here:
            return here[version]
        if any(state.name == name and version in (None, state.version) for state in self.others):
            raise Unavailable(f"model {name!r} is being loaded")
        raise NotFound("version" if here else "model", version if here else name)

    def states(self, name=None):
        labelled = {}
        for (model, label), version in self.labels.items():
            labelled.setdefault((model, version), []).append(label)
        served = [
            VersionState(each.name, each.version, "ready", tuple(labelled.get((each.name, each.version), ())))
            for each in self.servables
        ]
        found = [state for state in [*served, *self.others] if name in (None, state.name)]
        if name is not None and not found:
            raise NotFound("model", name)
        return found
