"""How good scores are, on the trainer's own validation slice."""

import numpy as np

from navi.core.arrays import F32, I64, Array


def auc(labels: Array, scores: Array, weights: Array | None = None) -> float:
    """Chance that a positive scores above a negative, ties counting half; NaN without both kinds.

    labels: [n], above 0 for a positive, NaN where there is none (such rows are left out). weights: [n].
    """
    given = ~np.isnan(labels)
    weight = np.ones(len(labels)) if weights is None else weights.astype(np.float64)
    positive = np.where(labels > 0, weight, 0.0)[given]
    negative = np.where(labels > 0, 0.0, weight)[given]
    _, rank = np.unique(scores[given], return_inverse=True)
    positives, negatives = np.bincount(rank, positive), np.bincount(rank, negative)
    pairs = positives.sum() * negatives.sum()
    if pairs == 0:
        return float("nan")
    below = np.cumsum(negatives) - negatives
    return float((positives * (below + 0.5 * negatives)).sum() / pairs)


def recall_at(scores: F32, target: I64, k: int) -> float:
    """Share of rows of `scores` [m, items] in which fewer than `k` items score above the target [m]."""
    own = np.take_along_axis(scores, target[:, None], axis=1)
    return float(((scores > own).sum(axis=1) < k).mean())
