"""Per-candidate features that the caller brought, spread over all candidates of the query."""

import numpy as np

from navi.core.arrays import I64
from navi.core.column import Column
from navi.core.errors import InvalidArgument
from navi.core.query import Supplied
from navi.core.ragged import offsets_of
from navi.features.item_table import ItemTable


def supplied_columns(supplied: Supplied | None, table: ItemTable, rows: I64) -> dict[str, Column]:
    """The supplied columns with a row for each of `rows` (int64 [n], -1 for an unknown item).

    A candidate that the caller did not supply keeps its resident value where the item table has a column of that
    name, and is missing otherwise. Of an item supplied twice, the first counts.
    """
    if supplied is None or not supplied.columns:
        return {}
    given = table.lookup(supplied.ids)
    if np.array_equal(given, rows):
        return dict(supplied.columns)
    known, first = np.unique(given, return_index=True)
    at = np.minimum(np.searchsorted(known, rows), len(known) - 1)
    source = np.where((known[at] == rows) & (rows >= 0), first[at], -1)
    return {name: _spread(column, source, name, table, rows) for name, column in supplied.columns.items()}


def _spread(column: Column, source: I64, name: str, table: ItemTable, rows: I64) -> Column:
    """Row i is column[source[i]], or the item's own value (missing where it has none) for a source of -1."""
    resident = table.column(name) if name in table.columns else None
    if resident is not None and (resident.dtype, resident.ragged) != (column.dtype, column.ragged):
        raise InvalidArgument(
            f"supplied.columns.{name}", f"is {column.dtype}, where the item table has {resident.dtype}"
        )
    rest = _missing(column, len(rows)) if resident is None else resident.take(np.maximum(rows, 0))
    index = np.where(source >= 0, source, len(column) + np.arange(len(rows)))
    return _joined(column, rest).take(index)


def _missing(like: Column, n: int) -> Column:
    absent = np.zeros(n, dtype=np.bool_)
    if like.offsets is not None:
        return Column(like.values[:0], np.zeros(n + 1, dtype=np.int64), absent)
    return Column(np.zeros((n, *like.values.shape[1:]), dtype=like.values.dtype), valid=absent)


def _joined(first: Column, second: Column) -> Column:
    valid = np.concatenate([_valid(first), _valid(second)])
    values = np.concatenate([first.values, second.values])
    if first.offsets is None or second.offsets is None:
        return Column(values, valid=valid)
    lengths = np.concatenate([np.diff(first.offsets), np.diff(second.offsets)])
    return Column(values, offsets_of(lengths), valid)


def _valid(column: Column) -> np.ndarray:
    return np.ones(len(column), dtype=np.bool_) if column.valid is None else column.valid
