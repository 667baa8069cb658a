"""Rows of an item table for ids that a request or a user's features name."""

import numpy as np

from navi.core.arrays import I64, Mask
from navi.core.errors import InvalidArgument
from navi.core.ids import Ids
from navi.features.item_table import ItemTable


def rows_of(table: ItemTable, ids: Ids, *, field: str) -> I64:
    """int64 [n], -1 for an unknown id; InvalidArgument naming `field` where the ids are of the other kind."""
    if len(ids) == 0:
        return np.empty(0, dtype=np.int64)  # an empty column of ids has no kind
    if ids.is_text != table.ids.is_text:
        kinds = ("integers", "strings")
        raise InvalidArgument(field, f"ids are {kinds[ids.is_text]}, where the items have {kinds[table.ids.is_text]}")
    return table.lookup(ids)


def is_among(rows: I64, others: I64) -> Mask:
    """bool [n], whether each of `rows` is in `others`."""
    if len(others) == 0:
        return np.zeros(len(rows), dtype=np.bool_)
    ordered = np.sort(others)
    places = np.minimum(np.searchsorted(ordered, rows), len(ordered) - 1)
    return ordered[places] == rows  # type: ignore[no-any-return]
