"""How sure a difference between two rankers is."""

from dataclasses import dataclass

import numpy as np

from navi.core.arrays import F64, Array

_BLOCK = 4_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A mean and the bounds of its confidence interval."""

    mean: float
    low: float
    high: float


def paired_bootstrap(
    ours: Array, theirs: Array, *, generator: np.random.Generator, resamples: int = 2000, confidence: float = 0.95
) -> Interval:
    """The mean of ours - theirs over users, with its percentile interval.

    ours, theirs: a metric of the same users in the same order, [users]. Users are drawn with replacement, both values
    of one together (Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13).
    Raises ValueError where the two do not belong together, are empty or not finite.
    """
    if ours.shape != theirs.shape or ours.ndim != 1:
        raise ValueError(f"paired values must have one shape [users], not {ours.shape} and {theirs.shape}")
    if len(ours) == 0:
        raise ValueError("there is no user")
    difference = ours.astype(np.float64) - theirs
    if not np.isfinite(difference).all():
        raise ValueError("a value is not finite")
    means = _resampled_means(difference, resamples, generator)
    tail = (1.0 - confidence) / 2
    low, high = np.quantile(means, (tail, 1.0 - tail))
    return Interval(mean=float(difference.mean()), low=float(low), high=float(high))


def _resampled_means(values: F64, resamples: int, generator: np.random.Generator) -> F64:
    """Means of `resamples` samples, float64 [resamples]; in blocks, so that memory does not grow with their number."""
    rows = max(_BLOCK // len(values), 1)
    means = [
        values[generator.integers(0, len(values), (min(rows, resamples - start), len(values)))].mean(axis=1)
        for start in range(0, resamples, rows)
    ]
    return np.concatenate(means)
