"""What happened to each user (or item), in order: the index behind every feature that must not look ahead."""

from dataclasses import dataclass

import numpy as np

from navi.core.arrays import F64, I64
from navi.core.ragged import offsets_of


@dataclass(frozen=True, slots=True, eq=False)
class Timeline:
    """Happenings by group (a user, an item), oldest first within it.

    keys: int64 [p], ascending, group and rank of the time in one number. events: int64 [p], which happening each is,
    as positions into what the timeline was made of. instants: float64 [t], the distinct times, ascending.
    """

    keys: I64
    events: I64
    instants: F64

    @classmethod
    def of(cls, group: I64, time: F64) -> "Timeline":
        """From groups and times [p]; happenings of one time keep their order."""
        instants, rank = np.unique(time, return_inverse=True)
        keys = group * (len(instants) + 1) + rank
        order = np.argsort(keys, kind="stable")
        return cls(keys[order], order, instants)

    def before(self, group: I64, time: F64) -> tuple[I64, I64]:
        """Where each group's happenings strictly before a time stand: starts and ends [m] in `events`."""
        base = group * (len(self.instants) + 1)
        starts = np.searchsorted(self.keys, base, side="left")
        ends = np.searchsorted(self.keys, base + np.searchsorted(self.instants, time, side="left"), side="left")
        return starts, ends

    def count(self, group: I64, time: F64) -> I64:
        """How many happenings of each group came strictly before a time [m]."""
        starts, ends = self.before(group, time)
        return ends - starts

    def last(self, group: I64, time: F64, *, limit: int) -> tuple[I64, I64]:
        """Each group's last `limit` happenings before a time, oldest first: (events, flat; offsets [m + 1])."""
        starts, ends = self.before(group, time)
        starts = np.maximum(starts, ends - limit)
        offsets = offsets_of(ends - starts)
        positions = np.arange(offsets[-1], dtype=np.int64) + np.repeat(starts - offsets[:-1], ends - starts)
        return self.events[positions], offsets
