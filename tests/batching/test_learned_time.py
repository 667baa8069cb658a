"""What work takes is learned as a line over its size."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from navi.core.learned_time import LearnedTime


def taught(samples: list[tuple[float, float]], first_share: float = 0.0) -> LearnedTime:
    times = LearnedTime(first_share)
    for size, seconds in samples:
        times.observe(size, seconds)
    return times


def test_a_line_is_found() -> None:
    times = taught([(size, 0.002 + 0.0005 * size) for size in (1, 50, 10, 200, 5) * 20])
    assert times.at(100) == pytest.approx(0.052, rel=0.02)
    assert times.at(1) == pytest.approx(0.0025, rel=0.1)


def test_nothing_is_expected_of_what_is_not_known() -> None:
    assert not LearnedTime().known
    assert LearnedTime().at(100) == 0.0


def test_of_one_sample_the_given_share_grows_with_the_size() -> None:
    assert taught([(10, 1.0)]).at(100) == pytest.approx(1.0)
    assert taught([(10, 1.0)], first_share=0.5).at(100) == pytest.approx(5.5, rel=0.02)


def test_one_pause_of_the_machine_is_no_news_and_a_change_is() -> None:
    steady = [(8.0, 0.01)] * 100
    assert taught([*steady, (8.0, 5.0)]).at(8) < 0.012
    assert taught([*steady, *[(8.0, 0.1)] * 200]).at(8) == pytest.approx(0.1, rel=0.05)


def test_a_slope_outlives_samples_of_one_size_for_a_while() -> None:
    both = [(size, 0.01 * size) for size in (1.0, 8.0) * 50]
    assert taught([*both, *[(8.0, 0.08)] * 20]).at(1) < 0.03


@given(st.lists(st.tuples(st.floats(0, 1e6), st.floats(0, 1e4)), min_size=1, max_size=50), st.floats(0, 1e6))
def test_no_time_is_negative_or_not_a_number(samples: list[tuple[float, float]], size: float) -> None:
    times = taught(samples)
    assert times.at(size) >= 0.0
    assert times.spread >= 0.0
