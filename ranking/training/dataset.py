"""What a trainer needs to know of a data set: the seam between where data comes from and how models are made."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from navi.core.arrays import F32, F64, I64
from navi.core.column import Column
from navi.core.ids import Ids


@dataclass(frozen=True, slots=True, kw_only=True)
class Events:
    """What happened, oldest first: one row an impression (or, in data that has none, a positive).

    user, item: int64 [n], positions into the data set's users and items. time: float64 [n], seconds since the epoch.
    context: request features known at that moment, [n] rows each.
    labels: task -> float32 [n], 1 or 0, NaN where the task does not apply to the row.
    """

    user: I64
    item: I64
    time: F64
    context: Mapping[str, Column]
    labels: Mapping[str, F32]

    def __len__(self) -> int:
        return len(self.user)


@dataclass(frozen=True, slots=True, kw_only=True)
class FeaturePlan:
    """Which columns are features, and how: names of item columns, static user features and context features.

    The feature builder adds histories, ages, matches and gaps from these (all from before the event only).
    """

    item_categories: tuple[str, ...] = ()
    item_numbers: tuple[str, ...] = ()
    item_log_numbers: tuple[str, ...] = ()
    item_created: str | None = None
    user_categories: tuple[str, ...] = ()
    user_numbers: tuple[str, ...] = ()
    context_categories: tuple[str, ...] = ()
    context_numbers: tuple[str, ...] = ()
    affinities: tuple[str, ...] = field(default=())
    """Item category columns for which a user's recent values are kept and matched with the candidate's."""
    gaps: tuple[tuple[str, str], ...] = field(default=())
    """(user number, item number) pairs whose distance is a feature."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """Users, items and events, with the time at which training ends and evaluation begins.

    items: a table with an `id` column. users: static features, one row a user. complete_impressions: whether events
    hold what was shown and ignored too; where not, the trainer draws negatives. positive: the task that makes an event
    a positive for retrieval and histories. weights: task -> weight in the combined score. diversity: item column whose
    repeats in an answer count for less, by decay and floor (mild where the column has few values). repeats: whether an
    item that a user has met is worth showing again (groceries), so that nothing seen is filtered.
    """

    name: str
    items: pa.Table
    user_ids: Ids
    users: Mapping[str, Column]
    events: Events
    split: float
    plan: FeaturePlan
    tasks: tuple[str, ...]
    positive: str
    weights: Mapping[str, float]
    complete_impressions: bool
    diversity: str | None = None
    diversity_decay: float = 0.5
    diversity_floor: float = 0.25
    repeats: bool = False
