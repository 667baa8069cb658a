"""Where real data is cut in time, and what may be known of it at the cut."""

import numpy as np

from navi.core.arrays import F64, I64
from navi.core.errors import ConfigError
from ranking.training.dataset import Events

TRAIN_SHARE = 0.8
"""Share of the events that come before the split."""


def split_time(time: F64, source: str) -> float:
    """The moment before which TRAIN_SHARE of the events lie; events of that very moment come after it.

    time: float64 [n], ascending. Raises ConfigError, naming the `source`, where that leaves no event before it.
    """
    split = float(time[int(TRAIN_SHARE * len(time))])
    if time[0] == split:
        raise ConfigError(source, f"has no event before the split at {split:.0f}: too few moments to train on")
    return split


def before(events: Events, moment: float) -> int:
    """How many of the events (they are oldest first) lie before `moment`."""
    return int(np.searchsorted(events.time, moment, side="left"))


def first_seen(events: Events, moment: float, items: int) -> I64:
    """When each item had its first event before `moment`: whole seconds int64 [items], -1 where it had none."""
    end = before(events, moment)
    seen, first = np.unique(events.item[:end], return_index=True)
    times = np.full(items, -1, dtype=np.int64)
    times[seen] = events.time[first].astype(np.int64)
    return times
