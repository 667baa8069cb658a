"""How much work the queries of a pipeline may cost now, judged by how late its answers are."""

import math
from threading import Lock
from typing import Final

from navi.core.clock import Clock
from navi.core.effort import FULL, LEVELS, Effort, Level

_FLOOR = 0.1
"""The smallest share of the candidates that is re-ranked."""

_UP = 0.001
_MOST_DOWN = 0.1
"""What an answer on target adds, and the most that a late one takes. Steps of ten times the size swing: by the time
that they show in the latency, several more have been taken."""

_TOP = 3.0
_BOTTOMS: Final = (_TOP - 0.15, 2.0, 1.0, 0.0)
"""The height below which each level is left for the one under it; one late answer does not end the full one."""

_NEXT: Final = (math.inf, _TOP, 2.0 + _FLOOR, 1.0 + _FLOOR)
_HOLD_S = 5.0
"""The height, and how long it has to be held, from which each level is left for the one above it."""

_QUIET_S = 20.0
_CLIMB_S = 20.0

_LEAST: Final = Effort("fewer", _FLOOR)
_COARSE: Final = Effort("coarse", _FLOOR)
_FALLBACK: Final = Effort("fallback", _FLOOR)


class Quality:
    """The degradation ladder of one pipeline, as one number, its height. Safe to use from many threads.

    An answer within the target raises it by d, a late one lowers it by d * p / (100 - p), so that it comes to rest
    where the p-th percentile of the latency meets the target (the rule of a quality factor q in [0.1, 1] that
    successors of the first Navi use, `shared/NAVI.md`; here it goes on below the floor). From 3 to 2 the height less 2
    is q, the share of the candidates that is re-ranked; from 2 to 1 more and more queries stop at the coarse order,
    from 1 to 0 at the fall-back. Those that still cost more are the probes by which the ladder is climbed again: there
    is no jump, and so no swinging.

    A late answer leads to a lower level only where its call came after the level was reached: calls that waited out a
    pause of the machine say nothing about it. A level is left for a better one once the height has been enough for
    5 s. Where none was late for 20 s, answers on target count for the time since the one before as well: with few calls
    the whole ladder is climbed in minutes, and not in thousands of calls.
    """

    def __init__(self, target_s: float, percentile: float, clock: Clock) -> None:
        """target_s: seconds from the door to the reply. percentile: in (0, 100)."""
        self.target_s = target_s
        ratio = percentile / (100.0 - percentile)
        self._up = min(_UP, _MOST_DOWN / ratio)
        self._down = self._up * ratio
        self._clock = clock
        self._height = _TOP
        self._level = 0
        self._since = self._late_at = self._seen_at = clock.monotonic()
        self._enough_since = math.inf
        self._turn = 0.0
        self._lock = Lock()

    @property
    def level(self) -> Level:
        """The lowest level that queries have to bear at present."""
        return LEVELS[self._level]

    @property
    def factor(self) -> float:
        """The share of the candidates that is re-ranked where any are, in [0.1, 1]."""
        return 1.0 if self._level == 0 else min(max(self._height - 2.0, _FLOOR), 1.0)

    def effort(self) -> Effort:
        """What the next query may cost; to be asked when its work begins, not when it comes in."""
        if self._level == 0:
            return FULL
        with self._lock:
            height = self._height
            if height >= 2.0:
                return FULL if height >= _TOP else Effort("fewer", max(height - 2.0, _FLOOR))
            if height >= 1.0:
                return _LEAST if self._has_turn(height - 1.0) else _COARSE
            return _COARSE if self._has_turn(height) else _FALLBACK

    def observe(self, arrived: float, seconds: float) -> None:
        """A query that arrived then (monotonic) has taken so long, its wait included."""
        with self._lock:
            now = self._clock.monotonic()
            if seconds > self.target_s:
                bottom = 0.0 if arrived >= self._since else _BOTTOMS[self._level]
                self._height = max(self._height - self._down, min(bottom, self._height))
                self._late_at = now
            else:
                self._height = min(self._height + self._gain(now), _TOP)
            self._seen_at = now
            self._settle(now)

    def _gain(self, now: float) -> float:
        if now - self._late_at < _QUIET_S:
            return self._up
        return max(self._up, (now - self._seen_at) / _CLIMB_S)

    def _settle(self, now: float) -> None:
        """Find the level of the height."""
        before = self._level
        while self._height < _BOTTOMS[self._level]:
            self._level += 1
        enough = self._height >= _NEXT[self._level]
        self._enough_since = min(self._enough_since, now) if enough else math.inf
        if now - self._enough_since >= _HOLD_S:
            self._level -= 1
        if self._level != before:
            self._since, self._enough_since = now, math.inf

    def _has_turn(self, share: float) -> bool:
        """Whether the next query is one of this share of them, which are spread evenly."""
        self._turn += share
        if self._turn < 1.0:
            return False
        self._turn -= 1.0
        return True
