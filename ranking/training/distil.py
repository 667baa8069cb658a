"""Lists of items that the ranker has scored, for the towers to learn its order from."""

from dataclasses import dataclass

import numpy as np

from navi.core.arrays import F32, F64, I64


@dataclass(frozen=True, slots=True, eq=False)
class TeacherLists:
    """moment: int64 [l]. items: int64 [l, width]. target: float32 [l, width], each item's share of its list's worth."""

    moment: I64
    items: I64
    target: F32


def teacher_lists(moment: I64, items: I64, worth: F64) -> TeacherLists:
    """From what the ranker thinks each item is worth at its moment, [l * width]."""
    positive = np.maximum(worth, 1e-12).reshape(items.shape)
    return TeacherLists(moment, items, (positive / positive.sum(axis=1, keepdims=True)).astype(np.float32))
