"""Item columns as orders that are made once and read by every query."""

import numpy as np

from navi.core.arrays import I64, Array
from navi.core.column import Column
from navi.core.errors import ConfigError, NotFound
from navi.features.item_table import ItemTable


def item_column(table: ItemTable, name: str, *, option: str) -> Column:
    """A column of the table; ConfigError naming `option` where there is none."""
    try:
        return table.column(name)
    except NotFound as error:
        raise ConfigError(option, str(error)) from error


def number_column(table: ItemTable, name: str, *, option: str) -> Column:
    """A column with one number an item; ConfigError naming `option` for any other."""
    column = item_column(table, name, option=option)
    if column.ragged or column.width != 1 or column.dtype not in ("int64", "float32"):
        raise ConfigError(option, f"item column {name!r} must hold one number an item")
    return column


def time_column(table: ItemTable, name: str, *, option: str) -> Column:
    """A column with one time an item, int64 seconds since the epoch; ConfigError naming `option` for any other."""
    column = number_column(table, name, option=option)
    if column.dtype != "int64":
        raise ConfigError(option, f"item column {name!r} must hold times: int64 seconds since the epoch")
    return column


def descending(column: Column) -> tuple[I64, Array]:
    """(rows int64 [m], their values), the greatest first, ties by row; rows without a finite value are not there."""
    values = column.values.reshape(-1)
    usable = np.isfinite(values) if column.valid is None else column.valid & np.isfinite(values)
    rows = np.flatnonzero(usable)
    # A stable sort of the values backwards, read backwards, would turn ties around: sort their negation instead.
    # ~x reverses the order of all integers, the smallest included.
    kept = values[rows]
    order = np.argsort(~kept if kept.dtype.kind == "i" else -kept, kind="stable")
    return rows[order], kept[order]


def first_not_after(inverted: I64, as_of: float) -> int:
    """Where times at or before `as_of` begin in an order of times, the newest first, given as `~times` (int64 [n])."""
    bound = np.int64(np.clip(np.floor(as_of), -(2.0**62), 2.0**62))
    return int(np.searchsorted(inverted, ~bound, side="left"))
