"""Keeps a slow model from holding every thread that works on calls."""

from collections import Counter, defaultdict
from threading import Lock
from typing import Final

from navi.core.clock import Clock
from navi.core.errors import Overloaded
from navi.core.learned_time import LearnedTime

_SLOW_S: Final = 0.1
_ACTIVE_S: Final = 1.0


class ThreadShares:
    """A slow model whose callers hold all threads but one gets no more of them while other models are asked.

    Slow is one that held so many for 0.1 s, or whose calls have taken as long on average. A model that is asked alone
    may hold all threads, and so may one whose calls come and go. Safe to use from many threads.
    """

    def __init__(self, threads: int, clock: Clock) -> None:
        self._limit = max(threads - 1, 1)
        self._clock = clock
        self._held: Counter[str] = Counter()
        self._times: defaultdict[str, LearnedTime] = defaultdict(LearnedTime)
        self._full_since: dict[str, float] = {}
        self._asked: dict[str, float] = {}
        self._lock = Lock()

    def enter(self, model: str) -> float:
        """A thread is about to wait for the model; Overloaded where it may not. The time, to be given to `leave`."""
        with self._lock:
            now = self._clock.monotonic()
            self._asked[model] = now
            if self._slow(model, now) and self._others(model, now):
                message = f"model {model!r} is slow, and holds {self._held[model]} threads already"
                raise Overloaded(message, retry_after_s=_SLOW_S)
            self._held[model] += 1
            if self._held[model] >= self._limit:
                self._full_since.setdefault(model, now)
            return now

    def leave(self, model: str, entered: float) -> None:
        with self._lock:
            self._times[model].observe(1.0, self._clock.monotonic() - entered)
            self._held[model] -= 1
            if self._held[model] < self._limit:
                self._full_since.pop(model, None)

    def _slow(self, model: str, now: float) -> bool:
        since = self._full_since.get(model)
        return since is not None and max(now - since, self._times[model].at(1.0)) >= _SLOW_S

    def _others(self, model: str, now: float) -> bool:
        return any(now - at < _ACTIVE_S for name, at in self._asked.items() if name != model)
