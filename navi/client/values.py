"""From Python and numpy values to columns of features."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeGuard

import numpy as np

from navi.core.arrays import Array
from navi.core.column import DTYPES, Column, DType
from navi.core.errors import InvalidArgument
from navi.core.ragged import offsets_of

_KINDS: dict[str, DType] = {"f": "float32", "i": "int64", "u": "int64", "b": "bool", "O": "string", "U": "string"}


def as_row(features: Mapping[str, object], field: str = "features") -> dict[str, Column]:
    """Request features, each a value, a list or 1-D array of values, or a one-row `Column`.

    None and empty lists are left out: the feature is missing. Floats become float32, integers int64.
    Raises InvalidArgument naming the feature for values that are no numbers, flags or strings, or of several kinds.
    """
    columns: dict[str, Column] = {}
    for name, value in features.items():
        if isinstance(value, Column):
            columns[name] = value
        elif value is not None and (flat := _values(_listed(value), f"{field} ({name})")).size:
            columns[name] = Column(flat.reshape(1, -1) if len(flat) > 1 else flat)
    return columns


def as_columns(columns: Mapping[str, object], field: str = "columns") -> dict[str, Column]:
    """Features of n rows, each an array [n] or [n, width], a list of n values or of n lists, or a `Column`.

    None in a list is a missing row; lists in a list are rows of different lengths. Dtypes and errors as in `as_row`.
    """
    return {
        name: values if isinstance(values, Column) else _column(values, f"{field} ({name})")
        for name, values in columns.items()
    }


def as_values(values: object, field: str) -> Column:
    """A column of one value a row, from a value or from a list of them."""
    return Column(_values(_listed(values), field))


def _column(values: object, field: str) -> Column:
    if isinstance(values, np.ndarray):
        return Column(_values(values, field, dimensions=2))
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InvalidArgument(field, "is neither an array nor a list of rows")
    rows = list(values)
    valid = np.array([row is not None for row in rows], dtype=np.bool_)
    mask = None if valid.all() else valid
    if any(_is_list(row) for row in rows):
        return _ragged(rows, mask, field)
    flat = _values([row for row in rows if row is not None], field)
    if len(flat) == len(rows):
        return Column(flat)
    spread = np.full(len(rows), "" if flat.dtype == object else 0, dtype=flat.dtype)
    spread[valid] = flat
    return Column(spread, valid=mask)


def _ragged(rows: Sequence[Any], valid: Array | None, field: str) -> Column:
    lists = [[] if row is None else _listed(row) for row in rows]
    offsets = offsets_of(np.array([len(one) for one in lists], dtype=np.int64))
    return Column(_values([value for one in lists for value in one], field), offsets, valid)


def _values(values: Array | Sequence[Any], field: str, *, dimensions: int = 1) -> Array:
    """An array of one of the four dtypes that features have, of at most so many dimensions."""
    if not isinstance(values, np.ndarray) and any(isinstance(value, str) for value in values):
        array = np.array([*values, None], dtype=object)[:-1]  # the None keeps numpy from looking into the values
    else:
        try:
            array = np.asarray(values)
        except ValueError as error:
            raise InvalidArgument(field, "has lists of different depth") from error
    name = _KINDS.get(array.dtype.kind)
    if name is None or (name == "string" and not all(isinstance(value, str) for value in array.flat)):
        raise InvalidArgument(field, "has values that are not all numbers, all flags or all strings")
    if not 1 <= array.ndim <= dimensions:
        raise InvalidArgument(field, f"has {array.ndim} dimensions, where at most {dimensions} are possible")
    if array.dtype.kind == "u" and array.size and array.max() >= 2**63:
        raise InvalidArgument(field, "has a number that does not fit into 64 bits")
    with np.errstate(over="ignore"):  # the server refuses infinities, naming the row
        return array.astype(DTYPES[name], copy=False)


def _listed(value: object) -> Array | list[Any]:
    if isinstance(value, np.ndarray) and value.ndim:
        return value
    return list(value) if _is_list(value) else [value]


def _is_list(value: object) -> TypeGuard[Iterable[Any]]:
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    return isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)
