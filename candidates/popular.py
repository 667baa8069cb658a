"""The items that most people want: the same for everyone, and the fall-back of everything else."""

from dataclasses import dataclass

import numpy as np

from candidates.context import Context
from candidates.order import descending, number_column
from candidates.parts import Parts
from candidates.source import Fetched
from navi.core.arrays import F32, I64


@dataclass(frozen=True, slots=True, eq=False)
class PopularSource:
    """Items by a number, the greatest first. rows: int64 [m] in that order; scores: float32 [m], the numbers."""

    rows: I64
    scores: F32

    @property
    def uses_user(self) -> bool:
        return False

    def fetch(self, context: Context, quota: int) -> Fetched:  # noqa: ARG002 - the same for every query
        return Fetched(self.rows[:quota], self.scores[:quota])


def popular(parts: Parts, *, column: str = "popularity") -> PopularSource:
    """column: one number an item, ties by row; items without it are not offered."""
    rows, values = descending(number_column(parts.table, column, option="column"))
    return PopularSource(rows, values.astype(np.float32))
