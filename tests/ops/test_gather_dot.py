"""Gathered dot products: right, and the same to the bit whatever else is asked for."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from navi.core.arrays import F32, I64
from navi.ops import gather_dot, gather_dot_top_k, reference

LAW = settings(deadline=None)
DIMS = st.one_of(st.integers(0, 40), st.sampled_from([63, 64, 65, 128, 200]))
SEED = st.integers(0, 2**32 - 1)


def made(seed: int, dims: int, total: int = 50) -> tuple[F32, F32, np.random.Generator]:
    random = np.random.default_rng(seed)
    matrix = random.standard_normal((total, dims), dtype=np.float32)
    return matrix, random.standard_normal(dims, dtype=np.float32), random


def bits(scores: F32) -> list[int]:
    return [int(word) for word in scores.view(np.uint32)]


@LAW
@given(SEED, DIMS, st.integers(0, 70))
def test_scores_are_those_of_the_reference_within_rounding(seed: int, dims: int, count: int) -> None:
    matrix, query, random = made(seed, dims)
    rows = random.integers(0, len(matrix), count)
    scores = gather_dot(matrix, rows, query)
    # Higham, Accuracy and Stability of Numerical Algorithms, 3.1: n u / (1 - n u) times the sum of magnitudes.
    bound = (dims + 1) * 2.0**-24 * (np.abs(matrix[rows]) @ np.abs(query)) * 1.01
    assert scores.dtype == np.float32
    assert (np.abs(scores - reference.gather_dot(matrix, rows, query)) <= bound).all()


@LAW
@given(SEED, DIMS, st.data())
def test_a_score_does_not_depend_on_the_other_rows(seed: int, dims: int, data: st.DataObject) -> None:
    matrix, query, random = made(seed, dims)
    whole = bits(gather_dot(matrix, np.arange(len(matrix)), query))
    rows = np.array(data.draw(st.lists(st.integers(0, len(matrix) - 1), max_size=20)), dtype=np.int64)
    expected = [whole[row] for row in rows]
    assert bits(gather_dot(matrix, rows, query)) == expected
    positions, scores = gather_dot_top_k(matrix, rows, query, 5)
    assert bits(scores) == [expected[position] for position in positions]
    positions, scores = gather_dot_top_k(matrix, None, query, 5)
    assert bits(scores) == [whole[position] for position in positions]
    elsewhere = random.permutation(len(matrix))
    moved = gather_dot(np.ascontiguousarray(matrix[elsewhere]), np.arange(len(matrix)), query)
    assert bits(moved) == [whole[row] for row in elsewhere]


@LAW
@given(
    hnp.arrays(np.float32, st.tuples(st.integers(1, 30), st.integers(1, 9)), elements=st.integers(-2, 2)),
    st.integers(1, 40),
    st.data(),
)
def test_the_best_are_those_of_the_reference_where_sums_are_exact(matrix: F32, k: int, data: st.DataObject) -> None:
    query = np.array(data.draw(st.lists(st.integers(-2, 2), min_size=matrix.shape[1], max_size=matrix.shape[1])))
    query = query.astype(np.float32)
    listed = data.draw(st.none() | st.lists(st.integers(0, len(matrix) - 1), max_size=40))
    rows = None if listed is None else np.array(listed, dtype=np.int64)
    count = len(matrix) if rows is None else len(rows)
    tied = data.draw(st.none() | st.lists(st.integers(-3, 3), min_size=count, max_size=count))
    ties = None if tied is None else np.array(tied, dtype=np.int64)
    positions, scores = gather_dot_top_k(matrix, rows, query, k, ties=ties)
    expected_positions, expected_scores = reference.gather_dot_top_k(matrix, rows, query, k, ties=ties)
    np.testing.assert_array_equal(positions, expected_positions)
    np.testing.assert_array_equal(scores, expected_scores)


@pytest.mark.parametrize("k", [1, 100, 3000])
def test_the_best_of_many_rows_are_those_of_all_their_scores(k: int) -> None:
    matrix, query, random = made(7, 64, total=5000)
    for rows in (random.integers(0, len(matrix), 20_000), None):
        scores = gather_dot(matrix, np.arange(len(matrix)) if rows is None else rows, query)
        ties = np.arange(len(matrix)) if rows is None else rows
        positions, best = gather_dot_top_k(matrix, rows, query, k)
        np.testing.assert_array_equal(positions, reference.top_k(scores, ties, k))
        assert bits(best) == bits(scores[positions])


def test_equal_scores_stand_by_row_number_and_then_by_position() -> None:
    matrix = np.ones((4, 3), dtype=np.float32)
    positions, _ = gather_dot_top_k(matrix, np.array([3, 1, 3, 0]), np.ones(3, dtype=np.float32), 4)
    assert positions.tolist() == [3, 1, 0, 2]


def test_scores_that_are_not_finite_are_returned_as_they_are_and_last() -> None:
    matrix = np.array([[np.nan], [2.0], [np.inf], [-0.0]], dtype=np.float32)
    query = np.ones(1, dtype=np.float32)
    positions, scores = gather_dot_top_k(matrix, None, query, 4)
    assert positions.tolist() == [1, 3, 0, 2]
    assert bits(scores) == bits(gather_dot(matrix, positions, query))
    assert np.isnan(scores[2])
    assert scores[3] == np.inf


@pytest.mark.parametrize("dims", [1, 7, 13, 17, 31, 64])
def test_values_around_a_row_do_not_leak_into_its_score(dims: int) -> None:
    matrix = np.full((3, dims), np.nan, dtype=np.float32)
    matrix[1] = 1.0
    query = np.concatenate([np.ones(dims), np.full(20, np.nan)]).astype(np.float32)[:dims]
    assert gather_dot(matrix, np.array([1]), query).tolist() == [dims]


def test_no_rows_and_no_dimensions_are_fine() -> None:
    none: I64 = np.empty(0, dtype=np.int64)
    assert gather_dot(np.empty((0, 5), np.float32), none, np.ones(5, np.float32)).tolist() == []
    assert gather_dot(np.empty((2, 0), np.float32), np.array([1]), np.ones(0, np.float32)).tolist() == [0.0]
    positions, scores = gather_dot_top_k(np.empty((0, 5), np.float32), None, np.ones(5, np.float32), 3)
    assert len(positions) == len(scores) == 0


@pytest.mark.parametrize("bad", [-1, 4, 2**62, -(2**63)])
def test_a_row_outside_the_matrix_is_refused_by_position(bad: int) -> None:
    matrix, query = np.ones((4, 3), np.float32), np.ones(3, np.float32)
    rows = np.array([0, 3, bad, bad])
    for call in (lambda: gather_dot(matrix, rows, query), lambda: gather_dot_top_k(matrix, rows, query, 1)):
        with pytest.raises(IndexError, match=rf"^rows: position 2 holds row {bad}, the matrix has 4 rows"):
            call()


def test_arguments_that_do_not_fit_are_refused_by_name() -> None:
    matrix, rows, query = np.ones((4, 3), np.float32), np.array([0]), np.ones(3, np.float32)
    with pytest.raises(ValueError, match=r"^query: has 2 entries, not 3"):
        gather_dot(matrix, rows, query[:2])
    with pytest.raises(ValueError, match=r"^matrix: its rows must lie"):
        gather_dot(np.asfortranarray(matrix), rows, query)
    with pytest.raises(ValueError, match=r"^matrix: its rows must lie"):
        gather_dot(matrix[:, ::-1], rows, query)
    with pytest.raises(ValueError, match=r"^matrix: has shape"):
        gather_dot(query, rows, query)
    with pytest.raises(TypeError, match=r"^matrix: is float64"):
        gather_dot(np.ones((4, 3)), rows, query)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^rows: is int32"):
        gather_dot(matrix, rows.astype(np.int32), query)
    with pytest.raises(ValueError, match=r"^ties: has 2 entries, not 1"):
        gather_dot_top_k(matrix, rows, query, 1, ties=np.array([0, 1]))
    with pytest.raises(ValueError, match=r"^k: is 0"):
        gather_dot_top_k(matrix, rows, query, 0)


def test_a_read_only_matrix_and_strided_rows_are_taken() -> None:
    matrix = np.frombuffer(np.arange(12, dtype=np.float32).tobytes(), dtype=np.float32).reshape(4, 3)
    scores = gather_dot(matrix, np.array([3, 9, 0, 9])[::2], np.ones(6, np.float32)[::2])
    assert scores.tolist() == [30.0, 3.0]
