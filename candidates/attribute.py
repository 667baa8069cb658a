"""Items that share a value with what the user follows or reads: the newest by their creators, say."""

from dataclasses import dataclass
from itertools import islice
from typing import Literal

import numpy as np

from candidates.attribute_index import AttributeIndex, build_attribute_index
from candidates.context import Context
from candidates.order import descending, first_not_after, item_column, number_column, time_column
from candidates.parts import Parts
from candidates.source import Fetched
from navi.core.arrays import I64
from navi.core.errors import ConfigError

_MOST_VALUES = 50


@dataclass(frozen=True, slots=True, eq=False)
class AttributeSource:
    """Items in turns over the 50 latest values of a user's feature, the last one first; score 1 / turn.

    inverted: where the index is ordered by times, `~times` in that order (int64 [n], rising): items later than `as_of`
    are skipped. A user without the feature gets nothing.
    """

    index: AttributeIndex
    feature: str
    inverted: I64 | None

    @property
    def uses_user(self) -> bool:
        return True

    def fetch(self, context: Context, quota: int) -> Fetched:
        codes = self._codes(context)
        if len(codes) == 0:
            return Fetched.nothing()
        first = 0 if self.inverted is None else first_not_after(self.inverted, context.query.as_of)
        rows, turns = self.index.round_robin(codes, quota, first=first)
        return Fetched(rows, (1.0 / (turns + 1)).astype(np.float32))

    def _codes(self, context: Context) -> I64:
        """Codes of the user's values that items have, the latest value first."""
        listed = context.user.get(self.feature)
        if listed is None:
            return np.empty(0, dtype=np.int64)
        distinct = dict.fromkeys(reversed(listed.tolist()))
        latest = islice(distinct, _MOST_VALUES)
        return np.array([self.index.codes[value] for value in latest if value in self.index.codes], dtype=np.int64)


def attribute(
    parts: Parts,
    *,
    feature: str,
    column: str,
    order: str = "created_at",
    kind: Literal["time", "number"] = "time",
) -> AttributeSource:
    """feature: a list of the user's, oldest first. column: of the item table, where its values are looked for, integers
    or text, one an item or several. order, kind: the item column that decides among a value's items, greatest first;
    of a time (int64 seconds since the epoch) those after `as_of` are skipped.
    """
    if parts.user_list(feature).dtype != item_column(parts.table, column, option="column").dtype:
        raise ConfigError("feature", f"{feature!r} holds values of another type than item column {column!r}")
    ordering = (time_column if kind == "time" else number_column)(parts.table, order, option="order")
    rows, numbers = descending(ordering)
    return AttributeSource(
        build_attribute_index(parts.table, column, rows), feature, ~numbers if kind == "time" else None
    )
