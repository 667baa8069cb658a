"""The seam behind which a loaded model runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from navi.core.arrays import Array


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """A tensor of a model: shape counts the batch dimension, which is None like every free one.

    leading: the name that the model gives to dimension 0 where it is free, or nothing.
    """

    name: str
    dtype: np.dtype
    shape: tuple[int | None, ...]
    leading: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Signature:
    """What a model takes and gives."""

    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]


class Backend(Protocol):
    """A model in memory. `run` may be called from several threads at once."""

    @property
    def signature(self) -> Signature: ...

    @property
    def provider(self) -> str:
        """Where it really runs: `cpu`, `cuda:0`, `tensorrt:0`; for reports."""
        ...

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """All outputs for a batch; every input has the same number of rows. BackendError where it fails."""
        ...

    def warm(self, rows: Sequence[int]) -> None:
        """Run once at each of these batch sizes, so that no caller pays for a first run."""
        ...

    def close(self) -> None:
        """Give memory back; no `run` may be under way or follow."""
        ...
