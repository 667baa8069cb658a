"""The newest items, as of the moment that the query is about."""

from dataclasses import dataclass

import numpy as np

from candidates.context import Context
from candidates.order import descending, first_not_after, time_column
from candidates.parts import Parts
from candidates.source import Fetched
from navi.core.arrays import I64

_DAY = 86_400.0


@dataclass(frozen=True, slots=True, eq=False)
class RecentSource:
    """Items by time, the newest first. rows: int64 [m] in that order.

    inverted: int64 [m], `~times` (seconds since the epoch), which rises, so that it can be searched.
    """

    rows: I64
    inverted: I64

    @property
    def uses_user(self) -> bool:
        return False

    def fetch(self, context: Context, quota: int) -> Fetched:
        """The newest at or before `as_of`; their score is minus the age in days."""
        start = first_not_after(self.inverted, context.query.as_of)
        age = context.query.as_of - ~self.inverted[start : start + quota]
        return Fetched(self.rows[start : start + quota], (-age / _DAY).astype(np.float32))


def recent(parts: Parts, *, column: str = "created_at") -> RecentSource:
    """column: the time of each item, int64 seconds since the epoch; items without it are not offered."""
    rows, times = descending(time_column(parts.table, column, option="column"))
    return RecentSource(rows, ~times)
