"""When each call is due: made before the run, so that nothing that the server does can move it."""

import numpy as np

from loadtest.curve import Curve, Shape, curve_of
from navi.core.arrays import F64
from navi.core.errors import InvalidArgument

MAX_CALLS = 20_000_000
"""Calls of one run: more would not fit into the memory of the processes that send and count them."""


def schedule(
    shape: Shape, *, rate: float, seconds: float, peak: float | None = None, generator: np.random.Generator
) -> F64:
    """Due times of a shape, float64 [calls], sorted, in [0, seconds). peak: twice the rate where left out.

    `constant` is evenly spaced; all others are Poisson arrivals along their curve.
    """
    curve = curve_of(shape, rate=rate, seconds=seconds, peak=2 * rate if peak is None else peak)
    return even(curve) if shape == "constant" else poisson(curve, generator)


def poisson(curve: Curve, generator: np.random.Generator) -> F64:
    """Arrivals of a Poisson process along a curve: a Poisson number of uniform points, drawn through the inverse of the
    curve's integral (the order-statistics property; Lewis and Shedler 1979)."""
    times, expected = curve.expected()
    points = generator.random(int(generator.poisson(_possible(expected[-1])))) * expected[-1]
    return _inside(np.interp(np.sort(points), expected, times), curve.seconds)


def even(curve: Curve) -> F64:
    """Arrivals without chance: the i-th falls where the curve's integral reaches i."""
    times, expected = curve.expected()
    count = round(_possible(expected[-1]))
    return _inside(np.interp(np.arange(count), expected, times), curve.seconds)


def recorded(arrivals: F64, speed: float) -> F64:
    """Due times with the gaps of recorded arrivals (seconds, sorted), `speed` times as fast."""
    if not (np.isfinite(speed) and speed > 0):
        raise InvalidArgument("speed", f"is {speed}, where a number above 0 is expected")
    gaps: F64 = (arrivals - arrivals[0]) / speed
    return gaps


def _inside(due: F64, seconds: float) -> F64:
    return np.minimum(due, np.nextafter(seconds, 0.0))


def _possible(calls: float) -> float:
    if calls > MAX_CALLS:
        raise InvalidArgument("rate", f"makes {calls:,.0f} calls in all, more than {MAX_CALLS:,}")
    return calls
