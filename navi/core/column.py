"""A named feature's values for n rows."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from navi.core.arrays import I64, Array, Mask
from navi.core.ragged import take_ragged

DType: TypeAlias = Literal["float32", "int64", "bool", "string"]

DTYPES: dict[DType, np.dtype] = {
    "float32": np.dtype(np.float32),
    "int64": np.dtype(np.int64),
    "bool": np.dtype(np.bool_),
    "string": np.dtype(object),
}


def dtype_name(dtype: np.dtype) -> DType:
    """The name of a feature's dtype; TypeError for any but the four that features have."""
    for name, known in DTYPES.items():
        if dtype == known:
            return name
    raise TypeError(f"features are float32, int64, bool or string, not {dtype}")


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """Values of one feature.

    values: float32, int64, bool, or object (`str`); shape [n] for one value a row, [n, width] for a fixed number,
        or [total] with `offsets` int64 [n + 1] for rows of different lengths.
    valid: bool [n], False where a row's value is missing; None where none is.
    """

    values: Array
    offsets: I64 | None = None
    valid: Mask | None = None

    def __len__(self) -> int:
        return len(self.values) if self.offsets is None else len(self.offsets) - 1

    @property
    def dtype(self) -> DType:
        return dtype_name(self.values.dtype)

    @property
    def ragged(self) -> bool:
        return self.offsets is not None

    @property
    def width(self) -> int:
        """Values a row, for columns that are not ragged."""
        assert self.offsets is None
        return 1 if self.values.ndim == 1 else self.values.shape[1]

    def take(self, index: Array) -> "Column":
        """The rows at positions `index` (int64 [m]), in that order."""
        valid = None if self.valid is None else self.valid[index]
        if self.offsets is None:
            return Column(self.values[index], valid=valid)
        positions, offsets = take_ragged(self.offsets, index)
        return Column(self.values[positions], offsets, valid)

    def row(self, position: int) -> Array | None:
        """One row's values as [width], or None where it is missing."""
        if self.valid is not None and not self.valid[position]:
            return None
        if self.offsets is None:
            return np.atleast_1d(self.values[position])
        return self.values[self.offsets[position] : self.offsets[position + 1]]
