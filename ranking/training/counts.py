"""What is known of items from the events before a moment."""

import numpy as np

from navi.core.arrays import F32
from ranking.training.dataset import Events


def positives_before(events: Events, task: str, moment: float, items: int) -> F32:
    """How often each item was a positive of `task` before `moment` (seconds): float32 [items].

    For the popular source. Not a feature of training rows: it counts their own labels.
    """
    counted = (events.time < moment) & (events.labels[task] == 1)
    return np.bincount(events.item[counted], minlength=items).astype(np.float32)
