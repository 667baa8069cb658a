"""How the rate of calls goes over time: the shapes of a load test."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from navi.core.arrays import F64
from navi.core.errors import InvalidArgument

Shape: TypeAlias = Literal["poisson", "constant", "ramp", "step", "spike", "diurnal"]

GRID = 20_001
"""Points at which a curve is summed; a step is off by at most a part in 20,000 of the run."""


@dataclass(frozen=True, slots=True)
class Curve:
    """Calls a second over the run, linear between points.

    times: float64 [points] in seconds, sorted, the first 0 and the last the length of the run; a time that stands twice
    is a step. rates: float64 [points], calls a second.
    """

    times: F64
    rates: F64

    @property
    def seconds(self) -> float:
        return float(self.times[-1])

    def expected(self) -> tuple[F64, F64]:
        """(times, calls expected until then), both float64 [GRID]."""
        grid = np.linspace(0.0, self.seconds, GRID)
        rates = np.interp((grid[1:] + grid[:-1]) / 2, self.times, self.rates)
        return grid, np.concatenate([[0.0], np.cumsum(rates * np.diff(grid))])


def curve_of(shape: Shape, *, rate: float, seconds: float, peak: float) -> Curve:
    """A shape by name. rate, peak: calls a second.

    poisson, constant: `rate` throughout. ramp: from `rate` to `peak`. step: `peak` in the middle third. spike: `peak`
    for a tenth of the run, in its middle. diurnal: one day, from `rate` up to `peak` and back along a cosine.
    """
    if not (np.isfinite(rate) and rate > 0):
        raise InvalidArgument("rate", f"is {rate}, where a number of calls a second above 0 is expected")
    if not (np.isfinite(seconds) and seconds > 0):
        raise InvalidArgument("duration", f"is {seconds}, where a number of seconds above 0 is expected")
    if not (np.isfinite(peak) and peak >= 0):
        raise InvalidArgument("peak", f"is {peak}, where a number of calls a second is expected")
    if shape == "diurnal":
        day = np.linspace(0.0, 1.0, 241)
        return Curve(day * seconds, rate + (peak - rate) * (1 - np.cos(2 * np.pi * day)) / 2)
    points = {
        "poisson": ([0, 1], [rate, rate]),
        "constant": ([0, 1], [rate, rate]),
        "ramp": ([0, 1], [rate, peak]),
        "step": ([0, 1 / 3, 1 / 3, 2 / 3, 2 / 3, 1], [rate, rate, peak, peak, rate, rate]),
        "spike": ([0, 0.45, 0.45, 0.55, 0.55, 1], [rate, rate, peak, peak, rate, rate]),
    }
    times, rates = points[shape]
    return Curve(np.array(times) * seconds, np.array(rates, dtype=np.float64))
