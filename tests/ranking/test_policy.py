"""Combining and diversity, against their formulas written out naively."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from candidates.context import Context
from candidates.parts import Parts
from navi.core.candidates import Candidates
from navi.core.errors import ConfigError
from navi.core.query import Query
from navi.features.item_table import ItemTable
from ranking.stages.combine import combine, combined
from ranking.stages.diversity import diversity, occurrence

PROBABILITIES = st.lists(st.floats(0, 1, width=32), min_size=1, max_size=30)


def test_the_published_rule_on_numbers_worked_out_by_hand() -> None:
    tasks = {"fav": np.array([0.5, 0.1], dtype=np.float32), "report": np.array([0.0, 0.01], dtype=np.float32)}
    scores = combined(tasks, {"fav": 0.5, "report": -369.0})
    # 0.25 + 0.001; and (0.05 - 3.69 + 369) / 369.5 * 0.001
    assert scores.tolist() == pytest.approx([0.251, 365.36 / 369.5 * 0.001], rel=1e-5)


def test_weights_of_zero_keep_only_what_is_positive() -> None:
    assert combined({"a": np.array([0.3], dtype=np.float32)}, {"a": 0.0}).tolist() == [0.0]


@given(PROBABILITIES, PROBABILITIES, st.floats(0.1, 10), st.floats(-400, -0.1))
def test_combining_keeps_the_order_of_the_weighted_sum_and_is_never_negative(
    good: list[float], bad: list[float], up: float, down: float
) -> None:
    n = min(len(good), len(bad))
    a, b = np.array(good[:n], dtype=np.float32), np.array(bad[:n], dtype=np.float32)
    scores = combined({"good": a, "bad": b}, {"good": up, "bad": down})
    total = up * a.astype(np.float64) + down * b.astype(np.float64)
    assert (scores >= 0).all()
    order = np.argsort(total, kind="stable")
    assert (np.diff(scores[order].astype(np.float64)) >= -1e-6 * np.maximum(1.0, scores[order][1:])).all()


def test_weights_that_are_no_numbers_are_refused(table: ItemTable) -> None:
    with pytest.raises(ConfigError, match="weights"):
        combine(Parts(None, table), weights={"a": float("nan")})  # type: ignore[arg-type]


@given(st.lists(st.integers(0, 4), max_size=40))
def test_occurrence_counts_equal_values_before(groups: list[int]) -> None:
    expected = [groups[:at].count(value) for at, value in enumerate(groups)]
    assert occurrence(np.array(groups, dtype=np.int64)).tolist() == expected


def greedy(scores: list[float], authors: list[int | None], decay: float, floor: float) -> list[int]:
    """Choose one by one: the best of what is left, each author's next item counting for less."""
    left, chosen, taken = set(range(len(scores))), [], {}
    while left:

        def worth(at: int) -> tuple[float, int]:
            k = 0 if authors[at] is None else taken.get(authors[at], 0)
            return (np.float32(scores[at] * ((1 - floor) * decay**k + floor)), -at)

        best = max(left, key=worth)
        left.remove(best)
        chosen.append(best)
        taken[authors[best]] = taken.get(authors[best], 0) + 1
    return chosen


@given(
    st.lists(st.integers(1, 2**20), min_size=40, max_size=40, unique=True),
    st.sampled_from([(0.5, 0.25), (0.0, 0.5), (1.0, 0.0)]),
)
def test_diversity_equals_choosing_greedily(table: ItemTable, raw: list[int], setting: tuple[float, float]) -> None:
    decay, floor = setting
    scores = np.array(raw, dtype=np.float32)
    stage = diversity(Parts(None, table), column="creator", decay=decay, floor=floor)  # type: ignore[arg-type]
    candidates = Candidates(np.arange(40), np.zeros(40, dtype=np.uint32), {"score": scores})
    changed = stage.run(None, candidates).columns["score"]  # type: ignore[arg-type]
    creators = [None if at % 10 == 9 else at % 4 for at in range(40)]
    order = greedy(raw, creators, decay, floor)
    assert changed[order].tolist() == sorted(changed.tolist(), reverse=True)


def test_diversity_works_on_strings(table: ItemTable, make_query: Callable[..., Query]) -> None:
    stage = diversity(Parts(None, table), column="group")  # type: ignore[arg-type]
    candidates = Candidates(
        np.array([0, 3, 6, 1]), np.zeros(4, dtype=np.uint32), {"score": np.ones(4, dtype=np.float32)}
    )
    changed = stage.run(Context(make_query(), table), candidates).columns["score"]
    assert changed.tolist() == pytest.approx([1.0, 0.625, 0.4375, 1.0])


@pytest.mark.parametrize("column", ["tags", "price"])
def test_diversity_by_a_column_without_groups_is_refused(table: ItemTable, column: str) -> None:
    with pytest.raises(ConfigError, match=column):
        diversity(Parts(None, table), column=column)  # type: ignore[arg-type]
