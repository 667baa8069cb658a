"""The raw features of one call of the encoder, read with the checks that every transform needs."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from navi.core.arrays import F64, I64, Array, Mask
from navi.core.column import DTYPES, Column, DType, dtype_name
from navi.core.errors import InvalidArgument
from navi.features.coded_text import CodedText

_NUMBERS = (DTYPES["float32"], DTYPES["int64"], DTYPES["bool"])


@dataclass(frozen=True, slots=True, eq=False)
class Lists:
    """m lists end to end. values: [total]; offsets: int64 [m + 1]; valid: bool [m], None where no list is missing."""

    values: Array
    offsets: I64
    valid: Mask | None


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """Named columns of n rows; a feature that is not there is missing in every row.

    as_of: float64 [n] or [1], seconds since the epoch. broadcast: whether features of the user and the request may have
    one row for all. coded: text features of the item, already numbered; used where `columns` has no such feature.

    What the methods return has one row a row of the frame, or one row for all. They raise InvalidArgument, naming the
    feature, for another number of rows, dtype or shape.
    """

    columns: Mapping[str, Column]
    n: int
    as_of: F64
    broadcast: bool = False
    coded: Mapping[str, CodedText] = field(default_factory=dict)

    def any(self, feature: str) -> Column | None:
        """The column whatever its kind; not finite where valid is refused."""
        column = self.columns.get(feature)
        if column is not None:
            self._check_rows(feature, len(column))
            check_finite(feature, column)
        return column

    def numbers(self, feature: str, width: int) -> Column | None:
        """A float32, int64 or bool column: values [n] where width is 1, else [n, width]; perhaps not finite."""
        column = self.columns.get(feature)
        if column is None:
            return None
        values = column.values
        if values.dtype not in _NUMBERS:
            raise _wrong_dtype(feature, values.dtype, "a number")
        if column.offsets is None and width == 1 and values.ndim == 1:  # most features, with nothing else to do
            if len(values) != self.n:
                self._check_rows(feature, len(values))
            return column
        return self._shaped(feature, column, width)

    def scalar(self, feature: str, dtype: DType) -> Column | None:
        """One value [n] of this dtype a row."""
        column = self.columns.get(feature)
        if column is None:
            return None
        if column.values.dtype != DTYPES[dtype]:
            raise _wrong_dtype(feature, column.values.dtype, dtype)
        return self._shaped(feature, column, 1)

    def lists(self, feature: str, dtype: DType) -> Lists | None:
        """A list of this dtype a row: ragged, or of fixed width."""
        column = self.columns.get(feature)
        if column is None:
            return None
        if column.values.dtype != DTYPES[dtype]:
            raise _wrong_dtype(feature, column.values.dtype, dtype)
        rows = len(column)
        self._check_rows(feature, rows)
        if column.offsets is not None:
            return Lists(column.values, column.offsets, column.valid)
        return Lists(column.values.reshape(-1), np.arange(rows + 1, dtype=np.int64) * column.width, column.valid)

    def _shaped(self, feature: str, column: Column, width: int) -> Column:
        self._check_rows(feature, len(column))
        if column.ragged:
            raise InvalidArgument(feature, f"has rows of different lengths, where each has {width}")
        if column.width != width:
            raise InvalidArgument(feature, f"has {column.width} values a row, where {width} are expected")
        if width == 1 and column.values.ndim != 1:
            return Column(column.values.reshape(-1), valid=column.valid)
        return column

    def _check_rows(self, feature: str, rows: int) -> None:
        if rows == self.n or (rows == 1 and self.broadcast and feature.startswith(("user.", "request."))):
            return
        raise InvalidArgument(feature, f"has {rows} rows, where {self.n} are expected")


def check_finite(feature: str, column: Column) -> None:
    """InvalidArgument where a value that is not missing is NaN or infinite."""
    if column.values.dtype.kind != "f":
        return
    if all_finite(column.values):
        return
    if column.valid is None or column.offsets is not None or not all_finite(column.values[column.valid]):
        raise InvalidArgument(feature, "is not finite (leave a missing value out, or mark it so)")


def all_finite(values: Array) -> bool:
    return bool(np.count_nonzero(np.isfinite(values)) == values.size)  # half the time of `.all()` for one row


def _wrong_dtype(feature: str, dtype: np.dtype, expected: str) -> InvalidArgument:
    try:
        found: str = dtype_name(dtype)
    except TypeError:
        found = str(dtype)
    return InvalidArgument(feature, f"is {found}, where {expected} is expected")
