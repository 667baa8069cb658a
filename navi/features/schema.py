"""Names, types and shapes of the features of one kind of row."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from navi.core.arrays import Array
from navi.core.column import DTYPES, DType
from navi.core.errors import InvalidArgument


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One feature: `width` values a row, or (where `max_length` is set) any number up to that."""

    dtype: DType
    width: int = 1
    max_length: int | None = None

    @property
    def ragged(self) -> bool:
        return self.max_length is not None

    def check(self, name: str, values: object) -> Array:
        """`values` as this field's array [width] or [length]; InvalidArgument naming `name` where it does not fit.

        Accepts safe numeric widening only (int64 -> float32 is taken where exact); NaN and infinities are refused.
        """
        array = _strings(name, values) if self.dtype == "string" else _numbers(name, values, DTYPES[self.dtype])
        if array.ndim != 1:
            raise InvalidArgument(name, f"has {array.ndim} dimensions, where a row has one")
        if self.max_length is None and len(array) != self.width:
            raise InvalidArgument(name, f"has {len(array)} values, where {self.width} are expected")
        if self.max_length is not None and len(array) > self.max_length:
            raise InvalidArgument(name, f"has {len(array)} values, where at most {self.max_length} are allowed")
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise InvalidArgument(name, "is not finite (leave a missing feature out instead)")
        return array


@dataclass(frozen=True, slots=True)
class FeatureSchema:
    """The features that rows of a store may have."""

    fields: Mapping[str, Field]

    def check(self, row: Mapping[str, object]) -> dict[str, Array]:
        """A row as the schema has it; InvalidArgument for an unknown feature or a value that does not fit."""
        checked: dict[str, Array] = {}
        for name, values in row.items():
            field = self.fields.get(name)
            if field is None:
                raise InvalidArgument(name, f"is no feature here; known: {', '.join(sorted(self.fields))}")
            checked[name] = field.check(name, values)
        return checked


def _strings(name: str, values: object) -> Array:
    listed = np.atleast_1d(np.asarray(values, dtype=object))  # as numpy's own text, it would lose closing NULs
    if not all(isinstance(value, str) for value in listed.ravel()):
        raise InvalidArgument(name, "must be strings")
    try:
        "".join(listed.ravel()).encode()
    except UnicodeEncodeError as error:
        raise InvalidArgument(name, f"is no valid Unicode ({error.reason})") from error
    return listed


def _numbers(name: str, values: object, dtype: np.dtype) -> Array:
    try:
        array = np.atleast_1d(np.asarray(values))
    except ValueError as error:
        raise InvalidArgument(name, "has lists of different lengths, where a row has one dimension") from error
    if array.dtype == dtype:
        return array
    if array.size == 0:
        return array.astype(dtype)
    kinds = {"f": "fiu", "i": "iu", "b": "b"}[dtype.kind]
    if array.dtype.kind not in kinds:
        raise InvalidArgument(name, f"is {array.dtype}, where {dtype} is expected")
    with np.errstate(over="ignore", invalid="ignore"):
        converted = array.astype(dtype)
    if array.dtype.kind in "iu" and converted.tolist() != array.tolist():  # Python compares int with float exactly
        raise InvalidArgument(name, f"has values that {dtype} cannot hold exactly")
    return converted
