"""A result's windows as columns over time: at most a couple of hundred points, however long the run."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loadtest.histogram import merged, quantile, seconds_of
from loadtest.result import OUTCOMES, Outcome, Result, Window

POINTS = 180
"""More than a screen can tell apart, and few enough for the numbers to stand beside the drawing."""

SHOWN = {"p50": 0.5, "p95": 0.95, "p99": 0.99}

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Series:
    """Columns of n points. edges: n + 1, seconds. Rates: calls a second. latency: seconds from due time, NaN where no
    call was answered. windows: how many of the result's windows make a point.
    """

    edges: Floats
    offered: Floats
    served: Floats
    outcomes: dict[Outcome, Floats]
    latency: dict[str, Floats]
    windows: int

    def __len__(self) -> int:
        return len(self.offered)


def series_of(result: Result) -> Series:
    """The windows, in order, neighbours put together until there are `POINTS` or fewer."""
    windows = sorted(result.windows, key=lambda window: window.start)
    step = max(math.ceil(len(windows) / POINTS), 1)
    groups = [windows[at : at + step] for at in range(0, len(windows), step)]
    outcomes = {name: _rates(groups, [_count(group, name) for group in groups]) for name in OUTCOMES}
    histograms = [merged(window.latency for window in group) for group in groups]
    return Series(
        edges=np.array([group[0].start for group in groups] + [_end(group) for group in groups[-1:]]),
        offered=_rates(groups, [sum(window.offered for window in group) for group in groups]),
        served=outcomes["ok"] + outcomes["degraded"],
        outcomes=outcomes,
        latency={
            name: np.array([quantile(histogram, q) for histogram in histograms], dtype=np.float64)
            for name, q in SHOWN.items()
        },
        windows=step,
    )


def distribution(histogram: dict[int, int]) -> tuple[Floats, Floats]:
    """Latencies in seconds, rising, and the share of calls that did not exceed each."""
    buckets = sorted(bucket for bucket, calls in histogram.items() if calls > 0)
    shares = np.cumsum([histogram[bucket] for bucket in buckets], dtype=np.float64)
    return np.array([seconds_of(bucket) for bucket in buckets]), shares / shares[-1] if buckets else shares


def _count(group: Sequence[Window], name: Outcome) -> int:
    return sum(window.outcomes.get(name, 0) for window in group)


def _end(group: Sequence[Window]) -> float:
    return group[-1].start + group[-1].seconds


def _rates(groups: Sequence[Sequence[Window]], counts: Sequence[int]) -> Floats:
    seconds = np.array([sum(window.seconds for window in group) for group in groups], dtype=np.float64)
    return np.array(counts, dtype=np.float64) / np.maximum(seconds, 1e-9)
