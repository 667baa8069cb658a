"""From the values of an item column to the items that have them, best first."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from candidates.order import item_column
from navi.core.arrays import I64
from navi.core.column import Column
from navi.core.errors import ConfigError
from navi.core.ragged import offsets_of
from navi.features.item_table import ItemTable


@dataclass(frozen=True, slots=True, eq=False)
class AttributeIndex:
    """The rows of each value, in one order of all items.

    rows: int64 [n], items in that order. codes: the code of each value, from 0. keys: int64 [m], code * n + place in
    `rows`, one for each value of each item, rising: the items of a value from some place on are one slice of it.
    """

    rows: I64
    codes: Mapping[int | str, int]
    keys: I64

    def round_robin(self, codes: I64, count: int, *, first: int = 0) -> tuple[I64, I64]:
        """(rows int64 [m], turns int64 [m] from 0), m <= count: each code's best item in turn, then each's second...

        codes: int64 [c], distinct. Rows do not repeat; only those at places from `first` on are taken.
        """
        starts = np.searchsorted(self.keys, codes * len(self.rows) + first)
        lengths = np.searchsorted(self.keys, (codes + 1) * len(self.rows)) - starts
        longest = int(lengths.max(initial=0))
        turns = _turns(lengths, count)
        rows, turn = self._taken(starts, np.minimum(lengths, turns))
        while len(rows) < count and turns < longest:  # an item that has several of the values came up for each
            turns = min(2 * turns, longest)
            rows, turn = self._taken(starts, np.minimum(lengths, turns))
        return rows[:count], turn[:count]

    def _taken(self, starts: I64, lengths: I64) -> tuple[I64, I64]:
        """The first `lengths` of each slice, by turn, each row where it comes up first."""
        offsets = offsets_of(lengths)
        turn = np.arange(offsets[-1], dtype=np.int64) - np.repeat(offsets[:-1], lengths)
        places = self.keys[np.repeat(starts, lengths) + turn] % max(len(self.rows), 1)
        order = np.argsort(turn, kind="stable")
        rows = self.rows[places[order]]
        _, at = np.unique(rows, return_index=True)
        at.sort()
        return rows[at], turn[order][at]


def build_attribute_index(table: ItemTable, column: str, rows: I64) -> AttributeIndex:
    """The index of an item column, of one value an item or several, integers or text; ConfigError for any other.

    rows: int64 [n], the items to be found, best first.
    """
    values = item_column(table, column, option="column")
    if values.dtype not in ("int64", "string"):
        raise ConfigError("column", f"item column {column!r} must hold integers or text")
    place = np.full(len(table), -1, dtype=np.int64)
    place[rows] = np.arange(len(rows))
    codes, known = _codes(table, column, values)
    places = place[_owners(values)]
    usable = (codes >= 0) & (places >= 0)
    keys = np.unique(codes[usable] * len(rows) + places[usable])
    return AttributeIndex(rows, known, keys)


def _codes(table: ItemTable, column: str, values: Column) -> tuple[I64, dict[int | str, int]]:
    """(a code for each flat value, -1 where its item's value is missing; the code of each distinct value)."""
    if values.dtype == "string":
        text_codes, texts = table.codes(column)
        return text_codes.astype(np.int64), {text: code for code, text in enumerate(texts)}
    distinct, inverse = np.unique(values.values, return_inverse=True)
    codes = inverse.reshape(-1).astype(np.int64)
    if values.valid is not None:
        codes[~values.valid[_owners(values)]] = -1
    return codes, {value: code for code, value in enumerate(distinct.tolist())}


def _owners(values: Column) -> I64:
    """The row of each flat value."""
    rows = np.arange(len(values), dtype=np.int64)
    return np.repeat(rows, values.width if values.offsets is None else np.diff(values.offsets))


def _turns(lengths: I64, count: int) -> int:
    """The fewest turns in which lists of these lengths give `count` items together, or all that they have."""
    low, high = 0, int(lengths.max(initial=0))
    while low < high:
        middle = (low + high) // 2
        if np.minimum(lengths, middle).sum() >= count:
            high = middle
        else:
            low = middle + 1
    return low
