"""Two answers are compared over the items that both have."""

import numpy as np
import pytest

from navi.core import Ids, Query
from navi.core.deadline import Deadline
from navi.server.shadowing import difference_of

QUERY = Query(pipeline="home", user=None, k=5, deadline=Deadline.never(), as_of=0.0)


def answer(navi, ids, scores, **tasks):
    plain = {"ids": Ids.of(ids), "scores": np.array(scores, dtype=np.float32)}
    return navi.ranking(QUERY, **plain, tasks={name: np.array(each, dtype=np.float32) for name, each in tasks.items()})


def test_tasks_are_compared_item_by_item_and_order_by_ranks(navi):
    one = answer(navi, [1, 2, 3, 4], [4, 3, 2, 1], click=[0.4, 0.3, 0.2, 0.1])
    other = answer(navi, [4, 3, 1, 9], [9, 5, 7, 6], click=[0.15, 0.2, 0.5, 0.9])
    difference = difference_of(QUERY, one, other)
    assert difference.mean == pytest.approx((0.1 + 0.0 + 0.05) / 3, abs=1e-6)
    assert difference.largest == pytest.approx(0.1, abs=1e-6)
    assert difference.correlation == pytest.approx(-0.5)  # ranks of 1, 3, 4: 3 2 1 against 2 1 3


def test_scores_are_compared_where_there_are_no_tasks_or_they_are_not_finite(navi):
    one = answer(navi, [1, 2], [0.5, 0.25], click=[np.nan, np.nan])
    other = answer(navi, [2, 1], [0.5, 0.75], click=[0.1, 0.2])
    difference = difference_of(QUERY, one, other)
    assert (difference.mean, difference.largest) == (0.25, 0.25)
    assert np.isnan(difference.correlation)


def test_answers_without_a_common_item_cannot_be_compared(navi):
    difference = difference_of(QUERY, answer(navi, [1], [1.0]), answer(navi, [2], [1.0]))
    assert np.isnan(difference.mean)
