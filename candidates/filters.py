"""What must not be shown: excluded, already seen, outside the predicates, too old or not yet published."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field

from candidates.context import Context
from candidates.lookup import is_among, rows_of
from candidates.order import time_column
from candidates.parts import Parts
from candidates.predicate import meets
from navi.core.arrays import Mask
from navi.core.candidates import Candidates
from navi.core.errors import StageError
from navi.core.ids import Ids

_DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class ExcludedFilter:
    """Drops the ids of `query.exclude`; ids that the table does not have exclude nothing."""

    @property
    def reason(self) -> str:
        return "excluded"

    @property
    def uses_user(self) -> bool:
        return False

    def keep(self, context: Context, candidates: Candidates) -> Mask:
        rows = rows_of(context.table, context.query.exclude, field="exclude")
        return ~is_among(candidates.rows, rows)


@dataclass(frozen=True, slots=True)
class SeenFilter:
    """Drops the item ids that the user's `feature` lists. A user without it has seen nothing."""

    feature: str

    @property
    def reason(self) -> str:
        return "seen"

    @property
    def uses_user(self) -> bool:
        return True

    def keep(self, context: Context, candidates: Candidates) -> Mask:
        listed = context.user.get(self.feature)
        if listed is None or len(listed) == 0:
            return np.ones(len(candidates), dtype=np.bool_)
        ids = Ids.of_text(listed.tolist()) if listed.dtype == object else Ids(listed)
        if ids.is_text != context.table.ids.is_text:
            raise StageError("seen", f"user feature {self.feature!r} holds ids of another kind than the item table")
        return ~is_among(candidates.rows, context.table.lookup(ids))


@dataclass(frozen=True, slots=True)
class PredicatesFilter:
    """Drops what does not meet all of `query.predicates`; see `candidates.predicate.meets`."""

    @property
    def reason(self) -> str:
        return "predicates"

    @property
    def uses_user(self) -> bool:
        return False

    def keep(self, context: Context, candidates: Candidates) -> Mask:
        kept = np.ones(len(candidates), dtype=np.bool_)
        for place, predicate in enumerate(context.query.predicates):
            kept &= meets(context.table, predicate, candidates.rows, field=f"predicates[{place}]")
        return kept


@dataclass(frozen=True, slots=True)
class AgeFilter:
    """Drops items later than `as_of` (not yet published), older than `max_days`, and those without a time.

    column: the time, int64 seconds since the epoch.
    """

    column: str
    max_days: float | None

    @property
    def reason(self) -> str:
        return "age"

    @property
    def uses_user(self) -> bool:
        return False

    def keep(self, context: Context, candidates: Candidates) -> Mask:
        times = context.table.column(self.column).take(candidates.rows)
        age = context.query.as_of - times.values.reshape(-1)
        kept: Mask = age >= 0
        if self.max_days is not None:
            kept &= age <= self.max_days * _DAY
        return kept if times.valid is None else kept & times.valid


def excluded(parts: Parts) -> ExcludedFilter:  # noqa: ARG001 - every plug-in is made from the parts
    """Takes no options."""
    return ExcludedFilter()


def seen(parts: Parts, *, feature: str) -> SeenFilter:
    """feature: the user's list of item ids."""
    parts.user_list(feature)
    return SeenFilter(feature)


def predicates(parts: Parts) -> PredicatesFilter:  # noqa: ARG001 - every plug-in is made from the parts
    """Takes no options."""
    return PredicatesFilter()


def age(
    parts: Parts, *, column: str = "created_at", max_days: Annotated[float, Field(gt=0)] | None = None
) -> AgeFilter:
    """column: the time of each item, int64 seconds since the epoch. max_days: the greatest age; None: any."""
    time_column(parts.table, column, option="column")
    return AgeFilter(column, max_days)
