"""Rules of the metrics: against values worked out by hand and against naive implementations."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranking.evaluation.metrics import auc, ndcg_at_k, recall_at_k

_NUMBERS = st.lists(st.integers(-3, 3), min_size=2, max_size=30)


def _ids(*items: int) -> np.ndarray:
    return np.array(items, dtype=np.int64)


def test_recall_is_the_share_of_the_relevant_among_the_first_k() -> None:
    assert recall_at_k(_ids(7, 3, 9, 1), _ids(3, 1, 8), 2) == pytest.approx(1 / 3)
    assert recall_at_k(_ids(7, 3, 9, 1), _ids(3, 1, 8), 4) == pytest.approx(2 / 3)
    assert recall_at_k(_ids(7, 3), _ids(3), 10) == 1.0
    assert recall_at_k(_ids(), _ids(3), 10) == 0.0


def test_ndcg_by_hand() -> None:
    ranked, relevant, gains = _ids(5, 2, 8), _ids(8, 2, 4), [3.0, 1.0, 2.0]
    dcg = 0 / math.log2(2) + 1 / math.log2(3) + 3 / math.log2(4)
    ideal = 3 / math.log2(2) + 2 / math.log2(3) + 1 / math.log2(4)
    assert ndcg_at_k(ranked, relevant, gains, 3) == pytest.approx(dcg / ideal)


def test_ndcg_at_k_neither_sees_nor_expects_more_than_k() -> None:
    gains = [1.0, 1.0, 1.0]
    assert ndcg_at_k(_ids(1, 9, 2, 3), _ids(1, 2, 3), gains, 1) == 1.0
    assert ndcg_at_k(_ids(9, 1, 2, 3), _ids(1, 2, 3), gains, 1) == 0.0


@given(st.permutations(range(8)), st.lists(st.floats(0, 5), min_size=8, max_size=8), st.integers(1, 10))
def test_ndcg_is_the_naive_sum_and_at_most_1_which_the_best_order_reaches(order, gains, k) -> None:
    if not any(gains):
        gains = [1.0, *gains[1:]]
    naive = sum(gains[item] / math.log2(rank + 2) for rank, item in enumerate(order[:k]))
    best = sorted(range(8), key=lambda item: -gains[item])
    ideal = sum(gains[item] / math.log2(rank + 2) for rank, item in enumerate(best[:k]))
    value = ndcg_at_k(_ids(*order), np.arange(8), gains, k)
    assert value == pytest.approx(naive / ideal)
    assert value <= 1 + 1e-12
    assert ndcg_at_k(_ids(*best), np.arange(8), gains, k) == pytest.approx(1.0)


def test_auc_by_hand_with_ties_counting_half() -> None:
    assert auc(np.array([0.9, 0.1]), np.array([1, 0])) == 1.0
    assert auc(np.array([0.1, 0.9]), np.array([1, 0])) == 0.0
    assert auc(np.array([0.5, 0.5, 0.5]), np.array([1, 0, 0])) == 0.5
    assert auc(np.array([3.0, 2.0, 2.0, 1.0]), np.array([1, 1, 0, 0])) == pytest.approx((2 + 1.5) / 4)


@given(_NUMBERS, st.randoms(use_true_random=False))
def test_auc_is_the_share_of_pairs_in_the_right_order(scores, random) -> None:
    labels = [0, 1, *(random.randint(0, 1) for _ in scores[2:])]
    pairs = [
        1.0 if a > b else 0.5 if a == b else 0.0
        for a, positive in zip(scores, labels, strict=True)
        for b, other in zip(scores, labels, strict=True)
        if positive and not other
    ]
    assert auc(np.array(scores), np.array(labels)) == pytest.approx(sum(pairs) / len(pairs))


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        (lambda: recall_at_k(_ids(1), _ids(), 5), "nothing is relevant"),
        (lambda: recall_at_k(_ids(1, 1), _ids(1), 5), "ranked has an item twice"),
        (lambda: recall_at_k(_ids(1), _ids(1, 1), 5), "relevant has an item twice"),
        (lambda: ndcg_at_k(_ids(1), _ids(1), [0.0], 5), "no gain"),
        (lambda: ndcg_at_k(_ids(1), _ids(1), [-1.0], 5), "0 or more"),
        (lambda: ndcg_at_k(_ids(1), _ids(1, 2), [1.0], 5), "for each relevant item"),
        (lambda: auc(np.array([1.0, 2.0]), np.array([1, 1])), "a positive and a negative"),
        (lambda: auc(np.array([1.0, math.nan]), np.array([1, 0])), "NaN"),
    ],
)
def test_a_user_that_cannot_be_measured_is_an_error(measure, message) -> None:
    with pytest.raises(ValueError, match=message):
        measure()
