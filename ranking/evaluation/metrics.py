"""What one user's ranking is worth; averages over users are the caller's."""

import numpy as np

from navi.core.arrays import F64, I64, Array
from ranking.training.metrics import auc as weighted_auc


def recall_at_k(ranked: I64, relevant: I64, k: int) -> float:
    """Share of the relevant items that are among the first k: |first k and relevant| / |relevant|.

    ranked: items best first, int64 [n], without repeats. relevant: int64 [m], m >= 1.
    (Manning, Raghavan and Schuetze, Introduction to Information Retrieval, 2008, section 8.4.) It cannot reach 1 where
    m > k. Raises ValueError for repeats and where nothing is relevant.
    """
    _check(ranked, relevant)
    return float(np.isin(relevant, ranked[:k]).mean())


def ndcg_at_k(ranked: I64, relevant: I64, gains: Array, k: int) -> float:
    """Discounted cumulative gain of the first k, over that of the best possible order.

    sum over ranks r = 1..k of gain / log2(1 + r); items that are not `relevant` gain 0.
    ranked: items best first, int64 [n], without repeats. relevant, gains: items int64 [m] and what each is worth [m],
    0 or more, as they enter the sum (give 2^grade - 1 for that variant).
    (Jaervelin and Kekaelaeinen, Cumulated gain-based evaluation of IR techniques, TOIS 2002, with the discount of
    Burges et al., Learning to rank using gradient descent, ICML 2005.) Raises ValueError for repeats, for gains that
    are negative or not finite, and where none is above 0.
    """
    _check(ranked, relevant)
    worth = np.asarray(gains, dtype=np.float64)
    if worth.shape != relevant.shape or not np.isfinite(worth).all() or (worth < 0).any():
        raise ValueError("gains must be one finite number, 0 or more, for each relevant item")
    if not worth.any():
        raise ValueError("no gain is above 0")
    order = np.argsort(relevant)
    first = ranked[:k]
    at = np.minimum(np.searchsorted(relevant[order], first), len(relevant) - 1)
    gained = np.where(relevant[order][at] == first, worth[order][at], 0.0)
    return _discounted(gained) / _discounted(np.sort(worth)[::-1][:k])


def auc(scores: Array, labels: Array) -> float:
    """Chance that a positive scores above a negative, ties counting half.

    scores: numbers [n]. labels: [n], above 0 for positives. The trainer's own AUC, for which a score that is NaN, or
    no positive and negative, is an error. (Mann and Whitney, 1947; Hanley and McNeil, 1982.) Raises ValueError.
    """
    positive = np.asarray(labels) > 0
    if positive.all() or not positive.any():
        raise ValueError("AUC needs a positive and a negative")
    if np.isnan(scores).any():
        raise ValueError("a score is NaN")
    return weighted_auc(positive, scores)


def _discounted(gains: F64) -> float:
    return float((gains / np.log2(np.arange(len(gains)) + 2)).sum())


def _check(ranked: I64, relevant: I64) -> None:
    if len(relevant) == 0:
        raise ValueError("nothing is relevant")
    for name, items in (("ranked", ranked), ("relevant", relevant)):
        if len(np.unique(items)) != len(items):
            raise ValueError(f"{name} has an item twice")
