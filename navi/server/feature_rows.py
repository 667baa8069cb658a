"""Rows of a feature store as columns, and back."""

from collections.abc import Mapping, Sequence

import numpy as np

from navi.core.arrays import Array
from navi.core.column import DTYPES, Column
from navi.core.ragged import offsets_of
from navi.features.schema import Field
from navi.features.store import Row


def rows_of(columns: Mapping[str, Column], count: int) -> list[Row]:
    """`count` rows of columns that have as many; what a column marks missing is absent from the row."""
    rows: list[dict[str, Array]] = [{} for _ in range(count)]
    for name, column in columns.items():
        for position, row in enumerate(rows):
            values = column.row(position)
            if values is not None:
                row[name] = values
    return list(rows)


def column_of(name: str, field: Field, rows: Sequence[Row | None]) -> Column:
    """One feature of many rows; missing where a row does not have it, or is None."""
    found = [None if row is None else row.get(name) for row in rows]
    valid = np.array([values is not None for values in found], dtype=np.bool_)
    missing = np.full(0 if field.ragged else field.width, "" if field.dtype == "string" else 0, DTYPES[field.dtype])
    filled = [missing if values is None else values for values in found]
    values = np.concatenate([missing[:0], *filled]) if field.ragged else _stacked(filled, missing)
    offsets = offsets_of(np.array([len(one) for one in filled], dtype=np.int64)) if field.ragged else None
    return Column(values, offsets, None if valid.all() else valid)


def _stacked(rows: Sequence[Array], missing: Array) -> Array:
    stacked = np.stack(rows) if rows else np.empty((0, len(missing)), dtype=missing.dtype)
    return stacked[:, 0] if len(missing) == 1 else stacked
