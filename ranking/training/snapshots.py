"""User features as they were just before any moment: the only place where the past is read, so that nothing leaks."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from navi.core.arrays import F64, I64, Array, Mask
from navi.core.column import Column
from navi.core.errors import ConfigError
from navi.features.item_table import ItemTable
from ranking.training.dataset import Dataset, Events
from ranking.training.timeline import Timeline

RECENT_ITEMS = "recent_items"
LAST_POSITIVE = "last_positive"
POSITIVES = "positives"
SHOWN = "shown"
SEEN = "seen"
SHOWN_LENGTH = 2
"""How many times longer the lists of what was shown are: most of it is not taken."""


def recent_name(column: str) -> str:
    """What a user's recent values of an item column are called: those of positives."""
    return f"recent_{column}"


def shown_name(column: str) -> str:
    """The same, of all that was shown to the user, taken or not."""
    return f"shown_{column}"


@dataclass(frozen=True, slots=True, eq=False)
class Recent:
    """A user's recent values. values: [happenings], what each happening of the timeline stands for."""

    timeline: Timeline
    values: Array
    limit: int

    def at(self, user: I64, time: F64) -> Column:
        events, offsets = self.timeline.last(user, time, limit=self.limit)
        return Column(self.values[events], offsets)


@dataclass(frozen=True, slots=True, eq=False)
class Snapshots:
    """Features of users at any moment, from what happened strictly before it.

    static: [users] each. recent: lists of values. counts: how often something happened.
    """

    static: Mapping[str, Column]
    recent: Mapping[str, Recent]
    counts: Mapping[str, Timeline]

    @classmethod
    def of(cls, dataset: Dataset, table: ItemTable, *, history: int) -> "Snapshots":
        """From events whose items are rows of `table`.

        history: length of the lists of positives; those of impressions are SHOWN_LENGTH times as long.
        """
        positive = dataset.events.labels[dataset.positive] > 0
        recent = {RECENT_ITEMS: _recent(dataset, table.column(table.key), positive, history)}
        for column in dataset.plan.affinities:
            values = _single(column, table.column(column))
            recent[recent_name(column)] = _recent(dataset, values, positive, history)
            if dataset.complete_impressions:
                recent[shown_name(column)] = _recent(dataset, values, np.ones_like(positive), SHOWN_LENGTH * history)
        happened = Timeline.of(dataset.events.user[positive], dataset.events.time[positive])
        counts = {POSITIVES: happened}
        if dataset.complete_impressions:
            counts[SHOWN] = Timeline.of(dataset.events.user, dataset.events.time)
        return cls(_static(dataset), recent, counts)

    def at(self, user: I64, time: F64, names: Collection[str] | None = None) -> dict[str, Column]:
        """The features [m] of users (positions) at times (seconds); all of them, or those in `names`."""
        wanted = self._wanted(names)
        columns = {name: self.static[name].take(user) for name in wanted & self.static.keys()}
        columns |= {name: self.recent[name].at(user, time) for name in wanted & self.recent.keys()}
        for name in wanted & self.counts.keys():
            columns[name] = Column(self.counts[name].count(user, time).astype(np.float32))
        if LAST_POSITIVE in wanted:
            columns[LAST_POSITIVE] = _last_time(self.counts[POSITIVES], user, time)
        return columns

    def _wanted(self, names: Collection[str] | None) -> set[str]:
        known = {*self.static, *self.recent, *self.counts, LAST_POSITIVE}
        return known if names is None else known & set(names)


def seen_items(events: Events, interacted: Mask, ids: Array, *, limit: int) -> Recent:
    """Each item that a user has interacted with, once, at the last time. ids: [items], what the lists hold."""
    chosen = np.flatnonzero(interacted)
    pair = events.user[chosen] * len(ids) + events.item[chosen]
    _, newest = np.unique(pair[::-1], return_index=True)
    chosen = np.sort(chosen[len(chosen) - 1 - newest])
    return Recent(Timeline.of(events.user[chosen], events.time[chosen]), ids[events.item[chosen]], limit)


def _static(dataset: Dataset) -> dict[str, Column]:
    plan = dataset.plan
    names = dict.fromkeys((*plan.user_categories, *plan.user_numbers, *(user for user, _ in plan.gaps)))
    return {name: dataset.users[name] for name in names}


def _recent(dataset: Dataset, values: Column, happened: Mask, limit: int) -> Recent:
    """Values of the items of the events that `happened`, for each user; items without a value leave none."""
    events = dataset.events
    chosen = happened if values.valid is None else happened & values.valid[events.item]
    return Recent(Timeline.of(events.user[chosen], events.time[chosen]), values.values[events.item[chosen]], limit)


def _single(name: str, values: Column) -> Column:
    if values.ragged or values.values.ndim != 1:
        raise ConfigError(f"plan.affinities.{name}", "must be a column with one value an item")
    return values


def _last_time(timeline: Timeline, user: I64, time: F64) -> Column:
    """When each user's last happening before a time was: int64 seconds, missing where there was none."""
    starts, ends = timeline.before(user, time)
    found = ends > starts
    last = np.where(found, ends - 1, 0)
    if len(timeline.keys) == 0:
        return Column(np.zeros(len(user), dtype=np.int64), valid=found)
    instant = timeline.instants[timeline.keys[last] % (len(timeline.instants) + 1)]
    return Column(np.where(found, instant, 0).astype(np.int64), valid=found)
