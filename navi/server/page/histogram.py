"""Quantiles out of a Prometheus histogram."""

from bisect import bisect_left
from dataclasses import dataclass
from math import isinf


@dataclass(frozen=True, slots=True)
class Estimate:
    """A quantile as the buckets tell it. at_least: it lies beyond the last bound, which is what `value` is then."""

    value: float
    at_least: bool = False


@dataclass(frozen=True, slots=True)
class Histogram:
    """Cumulative counts under ascending upper bounds, the last of them infinity; total: sum of what was observed."""

    bounds: tuple[float, ...]
    counts: tuple[float, ...]
    total: float

    @property
    def count(self) -> float:
        return self.counts[-1] if self.counts else 0.0

    @property
    def mean(self) -> float | None:
        return self.total / self.count if self.count else None

    def quantile(self, q: float) -> Estimate | None:
        """Spread evenly inside each bucket, the first of which starts at 0: Prometheus's `histogram_quantile`.

        None where nothing was observed.
        """
        if not self.count:
            return None
        rank = q * self.count
        at = min(bisect_left(self.counts, rank), len(self.counts) - 1)
        below = self.bounds[at - 1] if at else 0.0
        if isinf(self.bounds[at]):
            return Estimate(below, at_least=True)
        under = self.counts[at - 1] if at else 0.0
        inside = self.counts[at] - under
        share = (rank - under) / inside if inside else 1.0
        return Estimate(below + (self.bounds[at] - below) * share)
