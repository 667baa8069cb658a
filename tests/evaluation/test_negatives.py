"""Rules of drawn negatives."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranking.evaluation.metrics import auc
from ranking.evaluation.negatives import Chosen, matched_negatives, uniform_negatives

_PAIRS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 9)), max_size=25)


def _rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def _arrays(pairs: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    both = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return both[:, 0], both[:, 1]


@given(_PAIRS)
def test_chosen_knows_exactly_the_pairs_that_it_was_made_of(pairs) -> None:
    chosen = Chosen.of(*_arrays(pairs), items=10)
    user, item = np.divmod(np.arange(50), 10)
    assert chosen.contains(user, item).tolist() == [(u, i) in pairs for u, i in zip(user, item, strict=True)]


@given(_PAIRS.filter(lambda pairs: all(item < 8 for _, item in pairs)), st.integers(0, 2**32))
def test_no_negative_was_chosen_by_its_user(pairs, seed) -> None:
    chosen, users = Chosen.of(*_arrays(pairs), items=10), np.arange(5)
    uniform = uniform_negatives(chosen, users, 6, _rng(seed))
    matched = matched_negatives(chosen, users, 6, _rng(seed), positives=np.arange(10))
    for drawn in (uniform, matched):
        assert drawn.shape == (5, 6)
        assert not chosen.contains(np.repeat(users, 6), drawn.ravel()).any()


def test_uniform_negatives_are_alike_likely() -> None:
    chosen = Chosen.of(np.array([0]), np.array([3]), items=5)
    counts = np.bincount(uniform_negatives(chosen, np.array([0]), 40_000, _rng()).ravel(), minlength=5)
    assert counts / 40_000 == pytest.approx([0.25, 0.25, 0.25, 0.0, 0.25], abs=0.01)


def test_matched_negatives_are_as_likely_as_among_the_positives() -> None:
    chosen = Chosen.of(np.array([0]), np.array([3]), items=5)
    positives = np.array([0, 0, 0, 1, 3, 3])
    counts = np.bincount(
        matched_negatives(chosen, np.array([0]), 40_000, _rng(), positives=positives).ravel(), minlength=5
    )
    assert counts / 40_000 == pytest.approx([0.75, 0.25, 0.0, 0.0, 0.0], abs=0.01)


def test_popularity_tells_nothing_among_matched_negatives() -> None:
    users, items = 500, 1000
    liked = np.minimum(_rng(2).zipf(1.4, (users, 5)) - 1, items - 1)
    user = np.repeat(np.arange(users), 5)
    popularity = np.bincount(liked.ravel(), minlength=items)
    drawn = matched_negatives(Chosen(np.empty(0, np.int64), items), user, 4, _rng(), positives=liked.ravel())
    scores = np.concatenate([popularity[liked.ravel()], popularity[drawn.ravel()]])
    assert auc(scores, np.repeat([1, 0], [liked.size, drawn.size])) == pytest.approx(0.5, abs=0.02)


def test_one_seed_gives_the_same_negatives() -> None:
    chosen = Chosen.of(np.array([0, 1]), np.array([3, 4]), items=50)
    first, second = (uniform_negatives(chosen, np.array([0, 1]), 9, _rng(7)) for _ in range(2))
    assert np.array_equal(first, second)


def test_a_user_who_chose_all_is_an_error_that_names_the_user() -> None:
    chosen = Chosen.of(np.full(4, 2), np.arange(4), items=4)
    with pytest.raises(ValueError, match="user 2 has chosen all"):
        uniform_negatives(chosen, np.array([0, 2]), 3, _rng())
