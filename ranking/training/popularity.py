"""How popular an item was at any moment: a ranker's feature, and the popular source's column."""

from dataclasses import dataclass

import numpy as np

from navi.core.arrays import F32, F64, I64, Mask
from ranking.training.dataset import Events
from ranking.training.timeline import Timeline

POPULARITY = "popularity"
"""Column of the item table: an item's positives for a million of all positives, before the split."""


@dataclass(frozen=True, slots=True, eq=False)
class Popularity:
    """Positives of each item, and of all."""

    by_item: Timeline
    overall: Timeline

    @classmethod
    def of(cls, events: Events, positive: Mask) -> "Popularity":
        item, time = events.item[positive], events.time[positive]
        return cls(Timeline.of(item, time), Timeline.of(np.zeros_like(item), time))

    def at(self, item: I64, time: F64) -> F32:
        """Items' shares [n] of the positives strictly before a time, in millionths; 0 before the first."""
        total = self.overall.count(np.zeros_like(item), time)
        return (1e6 * self.by_item.count(item, time) / np.maximum(total, 1)).astype(np.float32)
