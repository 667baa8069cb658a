"""A model that answers after a known time: what the stub servers of the tensor protocols have behind them."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from navi.core.arrays import F32, Array
from navi.core.errors import InvalidArgument, NotFound
from navi.wire.tensors import OPEN, TensorSpec, datatype_of

OUTPUT = TensorSpec("scores", "FP32", (OPEN,))


@dataclass(frozen=True, slots=True)
class TensorModel:
    """Scores each row by the sum of its numbers. inputs: their first dimension is the rows. delay_s: of each call, to
    the millisecond that an event loop's timers keep."""

    name: str = "stub"
    version: str = "1"
    inputs: tuple[TensorSpec, ...] = (TensorSpec("x", "FP32", (OPEN, 8)),)
    delay_s: float = 0.005

    def __post_init__(self) -> None:
        for spec in self.inputs:
            if spec.dims[:1] != (OPEN,):
                raise InvalidArgument(
                    f"input {spec.name}", f"has the dimensions {list(spec.dims)}: the first is not -1"
                )

    def check_name(self, name: str, version: str) -> None:
        """Raise NotFound where another model or version is meant."""
        if name != self.name:
            raise NotFound("model", name, (self.name,))
        if version not in ("", self.version):
            raise NotFound(f"version of model {self.name!r}", version, (self.version,))

    async def scores(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """The output by name, float32 [rows]; InvalidArgument for an input that is missing, unknown or wrong."""
        rows = self._rows(inputs)
        await asyncio.sleep(self.delay_s)
        total: F32 = np.zeros(rows, dtype=np.float32)
        for values in inputs.values():
            if values.dtype != object:
                total += values.reshape(rows, -1).sum(axis=1, dtype=np.float32)
        return {OUTPUT.name: total}

    def _rows(self, inputs: Mapping[str, Array]) -> int:
        known = {spec.name: spec for spec in self.inputs}
        for name in sorted(known.keys() ^ inputs.keys()):
            raise InvalidArgument(f"inputs[{name}]", "is missing" if name in known else "is not known")
        for name, values in inputs.items():
            if not _fits(values, known[name]):
                given = f"{datatype_of(values)} {list(values.shape)}"
                expected = f"{known[name].datatype} {list(known[name].dims)}"
                raise InvalidArgument(f"inputs[{name}]", f"is {given}, where {expected} is expected")
        counts = {values.shape[0] for values in inputs.values()}
        if len(counts) != 1:
            raise InvalidArgument("inputs", f"have different numbers of rows: {sorted(counts)}")
        return int(counts.pop())


def _fits(values: Array, spec: TensorSpec) -> bool:
    same_rank = values.ndim == len(spec.dims) and values.ndim > 0
    sizes = zip(values.shape, spec.dims, strict=False)
    return same_rank and datatype_of(values) == spec.datatype and all(want in (OPEN, size) for size, want in sizes)
