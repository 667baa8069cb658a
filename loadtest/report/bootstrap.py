"""How sure a number of a run is: the run's windows drawn again, in blocks, many times."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from loadtest.histogram import seconds_of
from loadtest.result import OUTCOMES, Outcome, Result

Floats: TypeAlias = NDArray[np.float64]

DRAWS = 1000


@dataclass(frozen=True, slots=True)
class Sample:
    """A run's n windows as columns; each number of the run is a function of how often each window counts.

    bounds: seconds, of the m buckets that occur. latency: calls, (n, m).
    """

    seconds: Floats
    offered: Floats
    outcomes: dict[Outcome, Floats]
    bounds: Floats
    latency: Floats

    def __len__(self) -> int:
        return len(self.seconds)

    def rate(self, counts: Floats, weights: Floats) -> Floats:
        """Calls a second. weights: (draws, n); the answer: (draws,)."""
        return weights @ counts / np.maximum(weights @ self.seconds, 1e-9)

    def share(self, counts: Floats, weights: Floats) -> Floats:
        """Of the calls that were due; 0 where there were none."""
        calls: Floats = np.sum(list(self.outcomes.values()), axis=0)
        return weights @ counts / np.maximum(weights @ calls, 1.0)

    def quantile(self, q: float, weights: Floats) -> Floats:
        """Seconds, from the drawn windows' histograms put together; NaN where no call was answered."""
        if not len(self.bounds):
            return np.full(len(weights), np.nan)
        below = np.cumsum(weights @ self.latency, axis=1)
        total = below[:, -1]
        found = self.bounds[np.argmax(below >= q * total[:, None], axis=1)]
        return np.where(total > 0, found, np.nan)


def sample_of(result: Result) -> Sample:
    """The windows of a result, in their order."""
    windows = sorted(result.windows, key=lambda window: window.start)
    buckets = sorted({bucket for window in windows for bucket in window.latency})
    counts = [[window.latency.get(bucket, 0) for bucket in buckets] for window in windows]
    return Sample(
        seconds=np.array([window.seconds for window in windows], dtype=np.float64),
        offered=np.array([window.offered for window in windows], dtype=np.float64),
        outcomes={
            name: np.array([window.outcomes.get(name, 0) for window in windows], dtype=np.float64) for name in OUTCOMES
        },
        bounds=np.array([seconds_of(bucket) for bucket in buckets], dtype=np.float64),
        latency=np.array(counts, dtype=np.float64).reshape(len(windows), len(buckets)),
    )


def block_length(count: int) -> int:
    """Windows in a block: the cube root of their number, the order that Hall, Horowitz and Jing found best for a
    variance ("On blocking rules for the bootstrap with dependent data", Biometrika 1995).
    """
    return max(round(math.cbrt(count)), 1)


def redrawn(count: int, generator: np.random.Generator, *, draws: int = DRAWS) -> Floats:
    """How often each of `count` windows counts in each draw, (draws, count).

    Circular block bootstrap (Politis and Romano, "A circular block-resampling procedure for stationary data", 1992):
    blocks of neighbours, since a slow second is followed by another.
    """
    length = block_length(count)
    starts = generator.integers(0, count, (draws, -(-count // length)))
    chosen = ((starts[:, :, None] + np.arange(length)) % count).reshape(draws, -1)[:, :count]
    offsets = np.arange(draws)[:, None] * count
    return np.bincount((chosen + offsets).ravel(), minlength=draws * count).reshape(draws, count).astype(np.float64)


def interval(differences: Floats, blocks: float) -> tuple[float, float]:
    """95 % interval of a difference from its draws, those without a number left out; NaN without any.

    The expanded percentile interval (Hesterberg, "What Teachers Should Know About the Bootstrap", 2015): of few
    `blocks`, the plain percentiles would be too narrow. Student's quantile by Abramowitz and Stegun, 26.7.5.
    """
    finite = differences[np.isfinite(differences)]
    if not len(finite) or blocks < 2:
        return float("nan"), float("nan")
    z, degrees = NormalDist().inv_cdf(0.975), blocks - 1
    student = z + (z**3 + z) / (4 * degrees) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * degrees**2)
    outside = NormalDist().cdf(-student * (blocks / degrees) ** 0.5)
    low, high = np.quantile(finite, [outside, 1 - outside])
    return float(low), float(high)


Statistic: TypeAlias = Callable[[Sample, Floats], Floats]
"""A number of a run for each draw of its windows."""


def both(statistic: Statistic, runs: Sequence[tuple[Sample, Floats]]) -> tuple[list[float], tuple[float, float]]:
    """The two runs' own numbers, and the interval of the second less the first: each run is drawn by itself."""
    points = [float(statistic(sample, np.ones((1, len(sample))))[0]) for sample, _ in runs]
    first, second = (statistic(sample, weights) for sample, weights in runs)
    blocks = min(len(sample) / block_length(len(sample)) for sample, _ in runs)
    return points, interval(second - first, blocks)
