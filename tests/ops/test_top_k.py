"""The total order of scores, and that the kernel keeps to it whatever it is given."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from navi.core.arrays import F32, I64
from navi.ops import reference, top_k

LAW = settings(deadline=None)
AWKWARD = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 3.4028235e38, -3.4028235e38]
SCORE = st.one_of(st.sampled_from(AWKWARD), st.floats(width=32))
TIE = st.one_of(st.integers(-3, 3), st.integers(-(2**63), 2**63 - 1))


def floats(*values: float) -> F32:
    return np.array(values, dtype=np.float32)


def ints(*values: int) -> I64:
    return np.array(values, dtype=np.int64)


@LAW
@given(st.lists(st.tuples(SCORE, TIE), max_size=60), st.integers(1, 80))
def test_the_kernel_ranks_as_the_reference_does(pairs: list[tuple[float, int]], k: int) -> None:
    scores = floats(*(score for score, _ in pairs))
    ties = ints(*(tie for _, tie in pairs))
    np.testing.assert_array_equal(top_k(scores, ties, k), reference.top_k(scores, ties, k))


@LAW
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([1, 10, 500, 1024, 5000, 20_000]),
    st.sampled_from(["few values", "many values", "ascending", "descending", "mostly not finite"]),
)
def test_many_scores_are_ranked_as_few_are(seed: int, k: int, shape: str) -> None:
    random = np.random.default_rng(seed)
    scores = random.standard_normal(10_000, dtype=np.float32)
    if shape == "few values":
        scores = np.round(scores)
    elif shape in {"ascending", "descending"}:
        scores = np.sort(scores)[:: 1 if shape == "ascending" else -1]
    elif shape == "mostly not finite":
        scores[random.random(len(scores)) < 0.9] = random.choice(floats(np.nan, np.inf, -np.inf))
    ties = random.integers(-50, 50, len(scores))
    np.testing.assert_array_equal(top_k(scores, ties, k), reference.top_k(scores, ties, k))


def test_a_tie_is_broken_by_the_smaller_tie_value() -> None:
    assert top_k(floats(1, 1, 1), ints(5, -5, 0), 2).tolist() == [1, 2]


def test_a_tie_of_ties_is_broken_by_position() -> None:
    assert top_k(floats(1, 2, 1, 2), ints(7, 7, 7, 7), 4).tolist() == [1, 3, 0, 2]


def test_negative_zero_equals_zero() -> None:
    assert top_k(floats(0.0, -0.0), ints(2, 1), 2).tolist() == [1, 0]


def test_scores_that_are_not_finite_sink_below_all_others_as_equals() -> None:
    scores = floats(np.inf, np.nan, -np.inf, -3.4e38)
    assert top_k(scores, ints(3, 2, 1, 9), 4).tolist() == [3, 2, 1, 0]


def test_k_beyond_the_scores_returns_them_all() -> None:
    assert top_k(floats(1, 2), ints(0, 1), 10**30).tolist() == [1, 0]


def test_no_scores_have_no_best() -> None:
    best = top_k(floats(), ints(), 3)
    assert best.shape == (0,)
    assert best.dtype == np.int64


def test_arrays_that_are_not_contiguous_are_read_right() -> None:
    assert top_k(floats(1, 9, 3, 9, 2, 9)[::2], ints(0, 9, 1, 9, 2, 9)[::2], 3).tolist() == [1, 2, 0]


@pytest.mark.parametrize("k", [0, -1])
def test_k_below_one_is_refused(k: int) -> None:
    with pytest.raises(ValueError, match=r"^k: is"):
        top_k(floats(1), ints(0), k)


def test_a_wrong_dtype_is_refused_by_name() -> None:
    with pytest.raises(TypeError, match=r"^scores: is float64, must be an array of float32"):
        top_k(np.ones(2), ints(0, 1), 1)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^ties: is int32"):
        top_k(floats(1, 2), np.zeros(2, np.int32), 1)
    with pytest.raises(TypeError, match=r"^scores: is list"):
        top_k([1.0], ints(0), 1)  # type: ignore[arg-type]


def test_a_wrong_shape_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"^scores: has shape \(1, 2\)"):
        top_k(floats(1, 2).reshape(1, 2), ints(0, 1), 1)
    with pytest.raises(ValueError, match=r"^ties: has 1 entries, not 2"):
        top_k(floats(1, 2), ints(0), 1)
