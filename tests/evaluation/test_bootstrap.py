"""Rules of the paired bootstrap."""

import math

import numpy as np
import pytest

from ranking.evaluation.bootstrap import paired_bootstrap


def _rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_the_interval_is_that_of_the_normal_theory_for_many_users() -> None:
    theirs = _rng(2).standard_normal(4000)
    ours = theirs + 0.1 + 0.5 * _rng(3).standard_normal(4000)
    found = paired_bootstrap(ours, theirs, generator=_rng())
    half = 1.96 * (ours - theirs).std() / math.sqrt(4000)
    assert found.mean == pytest.approx((ours - theirs).mean())
    assert found.low == pytest.approx(found.mean - half, abs=0.1 * half)
    assert found.high == pytest.approx(found.mean + half, abs=0.1 * half)


def test_pairing_takes_out_what_the_users_share() -> None:
    theirs = 100 * _rng(2).standard_normal(200)
    found = paired_bootstrap(theirs + 0.5, theirs, generator=_rng())
    assert (found.low, found.high) == pytest.approx((0.5, 0.5))


def test_resampled_means_are_the_naive_ones() -> None:
    ours, theirs = _rng(4).random(7), _rng(5).random(7)
    drawn = _rng(6).integers(0, 7, (50, 7))
    means = [np.mean([ours[user] - theirs[user] for user in sample]) for sample in drawn]
    found = paired_bootstrap(ours, theirs, generator=_rng(6), resamples=50, confidence=0.9)
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(means, (0.05, 0.95))))


def test_one_seed_gives_one_interval_also_when_drawn_in_blocks() -> None:
    ours, theirs = _rng(4).random(3_000_000), np.zeros(3_000_000)
    first, second = (paired_bootstrap(ours, theirs, generator=_rng(8), resamples=3) for _ in range(2))
    assert first == second


@pytest.mark.parametrize(
    ("ours", "theirs", "message"),
    [([1.0], [1.0, 2.0], "one shape"), ([], [], "no user"), ([math.nan], [1.0], "not finite")],
)
def test_values_that_cannot_be_paired_are_refused(ours, theirs, message) -> None:
    with pytest.raises(ValueError, match=message):
        paired_bootstrap(np.array(ours), np.array(theirs), generator=_rng())
