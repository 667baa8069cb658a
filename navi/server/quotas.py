"""How many calls a second each caller may make."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from navi.core.clock import Clock

EVERYONE: Final = "*"
"""In the settings, the name of every caller that has no quota of its own."""

BURST_S: Final = 1.0
"""A caller that was quiet may make the calls of so many seconds at once."""


@dataclass(slots=True)
class _Bucket:
    tokens: float
    at: float


class Quotas:
    """A token bucket a caller, one token a call. Lives on one event loop.

    The calls of a server with several workers reach them at random, so that each holds its part of every quota.
    """

    def __init__(self, per_s: Mapping[str, float], *, workers: int, clock: Clock) -> None:
        """per_s: calls a second by caller, or `EVERYONE`; a caller that neither names has no limit."""
        self._rates = {caller: rate / workers for caller, rate in per_s.items()}
        self._clock = clock
        self._buckets: dict[str, _Bucket] = {}

    def wait_s(self, caller: str) -> float:
        """Seconds until this caller may make a call; 0: now."""
        rate = self._rate(caller)
        if rate is None:
            return 0.0
        missing = 1.0 - self._filled(caller, rate).tokens
        return max(missing, 0.0) / rate

    def spend(self, caller: str) -> None:
        """Count a call that is taken on."""
        rate = self._rate(caller)
        if rate is not None:
            self._filled(caller, rate).tokens -= 1.0

    def _rate(self, caller: str) -> float | None:
        return self._rates.get(caller, self._rates.get(EVERYONE))

    def _filled(self, caller: str, rate: float) -> _Bucket:
        """Callers are labels of metrics, and so few."""
        now = self._clock.monotonic()
        full = max(rate * BURST_S, 1.0)
        bucket = self._buckets.setdefault(caller, _Bucket(full, now))
        bucket.tokens = min(full, bucket.tokens + (now - bucket.at) * rate)
        bucket.at = now
        return bucket
