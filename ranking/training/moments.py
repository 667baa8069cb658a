"""The distinct moments at which something was asked for: what the rows of one request share."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from navi.core.arrays import F64, I64, Mask
from navi.core.column import Column
from navi.core.errors import ConfigError
from ranking.training.dataset import Events


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Moments:
    """A user, a time and what was known of the context, m rows, oldest first."""

    user: I64
    time: F64
    context: Mapping[str, Column]

    def __len__(self) -> int:
        return len(self.user)

    def take(self, index: I64) -> "Moments":
        context = {name: column.take(index) for name, column in self.context.items()}
        return Moments(user=self.user[index], time=self.time[index], context=context)


def moments_of(events: Events) -> tuple[Moments, I64]:
    """The moments of events, and for each event [n] the position of its moment.

    Events share a moment where user, time and all of the context agree.
    """
    order = np.lexsort((events.time, events.user))
    new = _differs(events.user[order]) | _differs(events.time[order])
    for name, column in events.context.items():
        new |= _column_differs(name, column.take(order))
    first = order[new]
    by_age = np.argsort(first, kind="stable")
    rank = np.empty(len(first), dtype=np.int64)
    rank[by_age] = np.arange(len(first))
    moment = np.empty(len(events), dtype=np.int64)
    moment[order] = rank[np.cumsum(new) - 1]
    chosen = first[by_age]
    context = {name: column.take(chosen) for name, column in events.context.items()}
    return Moments(user=events.user[chosen], time=events.time[chosen], context=context), moment


def _differs(values: np.ndarray) -> Mask:
    """bool [n], True where a row is not like the row before it (and for the first)."""
    new = np.ones(len(values), dtype=np.bool_)
    unlike = values[1:] != values[:-1]
    new[1:] = unlike if values.ndim == 1 else unlike.any(axis=1)
    return new


def _column_differs(name: str, column: Column) -> Mask:
    if column.ragged:
        raise ConfigError(f"context.{name}", "is a list; context features have a fixed width")
    new = _differs(column.values)
    return new if column.valid is None else new | _differs(column.valid)
