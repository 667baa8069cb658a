"""Latencies in buckets of equal relative width: small, mergeable, and exact to one per cent."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping

PER_OCTAVE = 64
"""Buckets from a value to twice of it: 1.09 % each."""


def bucket_of(seconds: float) -> int:
    """The bucket of a latency; those under a microsecond share the first."""
    return max(math.ceil(math.log2(max(seconds, 1e-6) * 1e6) * PER_OCTAVE), 0)


def seconds_of(bucket: int) -> float:
    """The upper bound of a bucket."""
    return float(2.0 ** (bucket / PER_OCTAVE) * 1e-6)


def merged(histograms: Iterable[Mapping[int, int]]) -> Counter[int]:
    """All counts together."""
    total: Counter[int] = Counter()
    for histogram in histograms:
        total.update(histogram)
    return total


def quantile(histogram: Mapping[int, int], q: float) -> float:
    """The latency, in seconds, that the share `q` of the calls did not exceed; NaN where there are none."""
    left = q * sum(histogram.values())
    for bucket in sorted(histogram):
        left -= histogram[bucket]
        if left <= 0:
            return seconds_of(bucket)
    return math.nan
