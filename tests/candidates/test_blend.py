"""Merging: each candidate once, with everyone who brought it, in the order that the formula says."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from candidates.blend import Blend, BlendMethod, reciprocal_rank_fusion, weighted_round_robin
from candidates.source import Fetched
from navi.core.candidates import Candidates

Lists = list[list[int]]

rows = st.lists(st.integers(0, 40), unique=True, max_size=25)
some_lists = st.lists(rows, min_size=1, max_size=6)
weighted_lists = some_lists.flatmap(
    lambda lists: st.tuples(st.just(lists), st.lists(st.floats(0.1, 10.0), min_size=len(lists), max_size=len(lists)))
)
METHODS: tuple[BlendMethod, ...] = ("reciprocal_rank_fusion", "weighted_round_robin")


def found(lists: Lists) -> list[Fetched]:
    return [Fetched(np.array(rows, dtype=np.int64), np.zeros(len(rows), dtype=np.float32)) for rows in lists]


def in_total_order(merged: Candidates) -> bool:
    keys = list(zip((-merged.columns["blend"]).tolist(), merged.rows.tolist(), strict=True))
    return keys == sorted(keys)


def naive_rrf(lists: Lists, weights: Sequence[float]) -> dict[int, float]:
    scores: dict[int, float] = {}
    for rows, weight in zip(lists, weights, strict=True):
        for rank, row in enumerate(rows, start=1):
            scores[row] = scores.get(row, 0.0) + weight / (60.0 + rank)
    return scores


@pytest.mark.parametrize("method", METHODS)
@given(case=weighted_lists)
def test_merging_has_every_candidate_once_and_says_who_brought_it(
    method: BlendMethod, case: tuple[Lists, list[float]]
) -> None:
    lists, weights = case
    merged, within = Blend(method=method, weights=tuple(weights), limit=1_000).merge(found(lists))
    brought = {row: sum(1 << i for i, rows in enumerate(lists) if row in rows) for row in set().union(*lists)}
    assert dict(zip(merged.rows.tolist(), merged.sources.tolist(), strict=True)) == brought
    assert len(merged) == len(brought)
    assert within is merged
    assert in_total_order(merged)


@given(case=weighted_lists)
def test_reciprocal_rank_fusion_equals_its_formula(case: tuple[Lists, list[float]]) -> None:
    lists, weights = case
    merged = reciprocal_rank_fusion(found(lists), weights)
    expected = naive_rrf(lists, weights)
    assert merged.columns["blend"].dtype == np.float32
    np.testing.assert_allclose(merged.columns["blend"], [expected[row] for row in merged.rows.tolist()], rtol=1e-6)


def test_a_tie_is_broken_by_row() -> None:
    merged = reciprocal_rank_fusion(found([[7, 3], [2, 3], [5]]), [1.0, 1.0, 1.0])
    assert merged.rows.tolist() == [3, 2, 5, 7]


@given(
    weights=st.lists(st.floats(0.2, 5.0), min_size=1, max_size=5),
    n=st.integers(1, 60),
)
def test_turns_give_each_source_its_weights_share(weights: list[float], n: int) -> None:
    lists = [list(range(i * 1000, i * 1000 + 400)) for i in range(len(weights))]
    merged = weighted_round_robin(found(lists), weights)
    firsts = merged.rows[:n] // 1000
    counts = np.bincount(firsts, minlength=len(weights))
    # Webster's rule: no source's last turn comes after another's next one.
    last = max((count - 0.5) / weight for count, weight in zip(counts, weights, strict=True))
    following = min((count + 0.5) / weight for count, weight in zip(counts, weights, strict=True))
    assert last <= following * (1 + 1e-6)


@given(case=weighted_lists)
def test_a_candidate_of_several_sources_comes_at_its_earliest_turn(case: tuple[Lists, list[float]]) -> None:
    lists, weights = case
    merged = weighted_round_robin(found(lists), weights)
    expected: dict[int, float] = {}
    for rows, weight in zip(lists, weights, strict=True):
        for rank, row in enumerate(rows, start=1):
            expected[row] = max(expected.get(row, 0.0), weight / (rank - 0.5))
    np.testing.assert_allclose(merged.columns["blend"], [expected[row] for row in merged.rows.tolist()], rtol=1e-6)


@pytest.mark.parametrize("method", METHODS)
@given(case=weighted_lists, limit=st.integers(1, 50))
def test_the_limit_keeps_the_best_and_the_rest_is_told(
    method: BlendMethod, case: tuple[Lists, list[float]], limit: int
) -> None:
    lists, weights = case
    whole, _ = Blend(method=method, weights=tuple(weights), limit=1_000).merge(found(lists))
    merged, within = Blend(method=method, weights=tuple(weights), limit=limit).merge(found(lists))
    assert merged.rows.tolist() == whole.rows.tolist()
    assert within.rows.tolist() == whole.rows.tolist()[:limit]


@pytest.mark.parametrize("method", METHODS)
@given(case=weighted_lists, limit=st.integers(1, 50))
def test_the_limit_never_cuts_what_the_caller_supplied(
    method: BlendMethod, case: tuple[Lists, list[float]], limit: int
) -> None:
    lists, weights = case
    blend = Blend(method=method, weights=tuple(weights), limit=limit, guaranteed=frozenset({0}))
    whole, _ = Blend(method=method, weights=tuple(weights), limit=1_000).merge(found(lists))
    merged, within = blend.merge(found(lists))
    kept, supplied = within.rows.tolist(), set(lists[0])
    assert supplied <= set(kept)
    assert len(kept) == max(min(limit, len(whole)), len(supplied))
    others = [row for row in whole.rows.tolist() if row not in supplied]
    assert [row for row in kept if row not in supplied] == others[: len(kept) - len(supplied)]
    assert kept == [row for row in whole.rows.tolist() if row in set(kept)]
    assert merged.rows.tolist() == whole.rows.tolist()


def test_no_lists_and_empty_lists_give_no_candidates() -> None:
    merged = reciprocal_rank_fusion(found([[], []]), [1.0, 1.0])
    assert len(merged) == 0
    assert merged.columns["blend"].dtype == np.float32


def test_the_last_of_32_sources_has_its_bit() -> None:
    merged = reciprocal_rank_fusion(found([[]] * 31 + [[4]]), [1.0] * 32)
    assert merged.sources.tolist() == [1 << 31]
