"""Made-up inputs for a model of which only names, dtypes and shapes are known."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from navi.core.arrays import Array
from navi.models.backend import TensorSpec


@dataclass(frozen=True, slots=True)
class Draw:
    """How values are made up.

    small: floats in [0, 1), where an ordinary model gives finite outputs; otherwise of all sizes up to 10,000, which
    tell the leaves of a tree apart. ids: integers (and texts of them) are below it. free: the size of free dimensions
    but the first.
    """

    small: bool
    ids: int
    free: int

    def inputs(self, specs: Sequence[TensorSpec], rows: int, random: np.random.Generator) -> dict[str, Array]:
        """Of each input [rows, ...]; where dimension 0 is fixed, or there is none, as the model has it."""
        return {spec.name: np.asarray(self._values(spec.dtype, self._shape(spec, rows), random)) for spec in specs}

    def _shape(self, spec: TensorSpec, rows: int) -> tuple[int, ...]:
        first = [size or rows for size in spec.shape[:1]]
        return (*first, *(size or self.free for size in spec.shape[1:]))

    def _values(self, dtype: np.dtype, shape: tuple[int, ...], random: np.random.Generator) -> Array:
        if dtype.kind == "f":
            floats = random.random(shape)
            if not self.small:
                floats = random.standard_normal(shape) * 10.0 ** random.integers(-1, 5, shape)
            return floats.astype(dtype)
        if dtype.kind == "b":
            return random.random(shape) < 0.5
        numbers = random.integers(0, self.ids, shape)
        return numbers.astype(dtype) if dtype.kind in "iu" else np.vectorize(str, otypes=[object])(numbers)


def draws(specs: Sequence[TensorSpec]) -> Iterator[Draw]:
    """Ways that differ for these inputs, the most telling first; what range ids may have nobody can know."""
    floats = any(spec.dtype.kind == "f" for spec in specs)
    whole = any(spec.dtype.kind in "iuO" for spec in specs)
    free = any(None in spec.shape[1:] for spec in specs)
    for small, size, ids in product((True, False) if floats else (True,), (3, 1) if free else (1,), (8, 2, 1)):
        if whole or ids == 1:
            yield Draw(small, ids, size)


def repeated(inputs: Mapping[str, Array], rows: int) -> dict[str, Array]:
    """The rows of a batch again and again, up to `rows`."""
    return {name: values[np.arange(rows) % len(values)] for name, values in inputs.items()}
