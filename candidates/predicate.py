"""Whether items meet a condition on one of their columns."""

from collections.abc import Sequence

import numpy as np

from navi.core.arrays import I64, Array, Mask
from navi.core.column import Column
from navi.core.errors import InvalidArgument, NotFound
from navi.core.query import Predicate
from navi.core.ragged import offsets_of
from navi.features.item_table import ItemTable


def meets(table: ItemTable, predicate: Predicate, rows: I64, *, field: str) -> Mask:
    """bool [n], for each of `rows` whether the item meets `predicate`.

    An item with several values in the column is `in` where any of them is, and `not_in` where none is. A missing value
    meets no `in`, `at_least` or `at_most`, and every `not_in`. InvalidArgument, naming the entry below `field`, for an
    unknown column, values of another type (integers are taken for a float32 column), and a bound that is not one number
    on a column of one number an item.
    """
    column = _column(table, predicate.column, field)
    _check_values(predicate.values, column, field)
    wanted = predicate.values.values.reshape(-1)
    if predicate.operator in ("at_least", "at_most"):
        _check_bound(wanted, column, field)
        taken = column.take(rows)
        values = taken.values.reshape(-1)
        within: Mask = values >= wanted[0] if predicate.operator == "at_least" else values <= wanted[0]
        return _present(within, taken)
    found = _found(table, predicate.column, column, rows, wanted)
    return found if predicate.operator == "in" else ~found


def _found(table: ItemTable, name: str, column: Column, rows: I64, wanted: Array) -> Mask:
    """Whether any of an item's values is one of `wanted`; False where it is missing."""
    if column.dtype == "string":
        codes, texts = table.codes(name)
        taken = Column(codes.reshape(column.values.shape), column.offsets, column.valid).take(rows)
        hits = _among_texts(taken.values, texts, set(wanted.tolist()))
    else:
        taken = column.take(rows)
        hits = np.isin(taken.values, wanted)
    found = _any_of_row(taken, hits)
    return _present(found, taken)


def _among_texts(codes: Array, texts: Sequence[str], wanted: set[str]) -> Mask:
    """Each distinct code is looked up once: a column of text has few values for its many rows."""
    distinct, places = np.unique(codes, return_inverse=True)
    among = np.array([code >= 0 and texts[code] in wanted for code in distinct.tolist()], dtype=np.bool_)
    return among[places.reshape(codes.shape)]


def _any_of_row(taken: Column, hits: Mask) -> Mask:
    if taken.offsets is not None:
        before = offsets_of(hits)
        return before[taken.offsets[1:]] > before[taken.offsets[:-1]]
    return hits if hits.ndim == 1 else np.logical_or.reduce(hits, axis=1)


def _present(met: Mask, taken: Column) -> Mask:
    return met if taken.valid is None else met & taken.valid


def _column(table: ItemTable, name: str, field: str) -> Column:
    try:
        return table.column(name)
    except NotFound as error:
        raise InvalidArgument(f"{field}.column", str(error)) from error


def _check_values(values: Column, column: Column, field: str) -> None:
    if values.ragged or values.width != 1:
        raise InvalidArgument(f"{field}.values", "must be one value a row")
    if values.valid is not None and not values.valid.all():
        raise InvalidArgument(f"{field}.values", "must not be missing")
    widened = column.dtype == "float32" and values.dtype == "int64"
    if len(values) and values.dtype != column.dtype and not widened:
        raise InvalidArgument(f"{field}.values", f"are {values.dtype}, where the column holds {column.dtype}")
    if values.dtype == "float32" and not np.isfinite(values.values).all():
        raise InvalidArgument(f"{field}.values", "must be finite")


def _check_bound(wanted: Array, column: Column, field: str) -> None:
    if column.dtype not in ("int64", "float32") or column.ragged or column.width != 1:
        raise InvalidArgument(f"{field}.operator", "a bound needs a column with one number an item")
    if len(wanted) != 1:
        raise InvalidArgument(f"{field}.values", f"a bound is one number, not {len(wanted)}")
