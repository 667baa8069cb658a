"""Schedules: sorted, inside the run, as many calls as the rate says, and the same for the same seed."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadtest.curve import curve_of
from loadtest.schedule import recorded, schedule
from navi.core.errors import InvalidArgument

SHAPES = st.sampled_from(["poisson", "constant", "ramp", "step", "spike", "diurnal"])
RATES = st.floats(0.5, 500.0)


def drawn(shape, rate, seconds, peak, seed):
    return schedule(shape, rate=rate, seconds=seconds, peak=peak, generator=np.random.default_rng(seed))


@given(SHAPES, RATES, st.floats(0.1, 60.0), st.floats(0.0, 1000.0), st.integers(0, 2**32))
def test_due_times_are_sorted_and_inside_the_run(shape, rate, seconds, peak, seed):
    due = drawn(shape, rate, seconds, peak, seed)
    assert due.dtype == np.float64
    assert np.all(np.diff(due) >= 0)
    assert not len(due) or (due[0] >= 0 and due[-1] < seconds)


@given(SHAPES, st.integers(0, 2**32))
def test_the_same_seed_gives_the_same_schedule(shape, seed):
    np.testing.assert_array_equal(drawn(shape, 100.0, 5.0, 300.0, seed), drawn(shape, 100.0, 5.0, 300.0, seed))


@given(SHAPES, RATES, st.floats(1.0, 20.0), st.floats(1.0, 500.0), st.integers(0, 2**32))
def test_as_many_calls_are_due_as_the_curve_holds(shape, rate, seconds, peak, seed):
    mean = {
        "poisson": rate,
        "constant": rate,
        "ramp": (rate + peak) / 2,
        "step": (2 * rate + peak) / 3,
        "spike": 0.9 * rate + 0.1 * peak,
        "diurnal": (rate + peak) / 2,
    }[shape]
    expected = mean * seconds
    assert curve_of(shape, rate=rate, seconds=seconds, peak=peak).expected()[1][-1] == pytest.approx(expected, rel=2e-3)
    # Seven standard deviations of a Poisson number: never missed by chance in a test's lifetime.
    assert abs(len(drawn(shape, rate, seconds, peak, seed)) - expected) <= 7 * np.sqrt(expected) + 0.003 * expected + 1


def test_constant_is_evenly_spaced():
    due = drawn("constant", 50.0, 2.0, None, 0)
    assert len(due) == 100
    np.testing.assert_allclose(np.diff(due), 0.02, rtol=1e-6)


def test_poisson_gaps_are_exponential():
    gaps = np.diff(drawn("poisson", 1000.0, 60.0, None, 3))
    for q in (0.25, 0.5, 0.75, 0.95):
        assert np.quantile(gaps, q) == pytest.approx(-np.log(1 - q) / 1000.0, rel=0.05)


def test_a_step_goes_to_overload_and_back():
    due = drawn("step", 100.0, 30.0, 400.0, 1)
    first, middle, last = (np.sum((due >= low) & (due < high)) for low, high in pairwise([0, 10, 20, 30]))
    assert middle > 3 * first
    assert middle > 3 * last


def test_a_recording_keeps_its_gaps_at_any_speed():
    arrivals = np.array([1000.0, 1000.5, 1003.0])
    np.testing.assert_allclose(recorded(arrivals, 1.0), [0.0, 0.5, 3.0])
    np.testing.assert_allclose(recorded(arrivals, 2.0), [0.0, 0.25, 1.5])


@pytest.mark.parametrize(
    ("field", "options"),
    [
        ("rate", {"rate": 0.0}),
        ("rate", {"rate": float("nan")}),
        ("rate", {"rate": 1e9}),
        ("duration", {"seconds": -1.0}),
        ("peak", {"peak": float("inf")}),
    ],
)
def test_a_schedule_that_cannot_be_is_refused_by_name(field, options):
    with pytest.raises(InvalidArgument) as error:
        schedule("ramp", **{"rate": 1.0, "seconds": 60.0, "generator": np.random.default_rng(0), **options})
    assert error.value.field == field
