"""What became of the calls for each model version: what Triton's clients read as statistics."""

import time
from dataclasses import dataclass
from threading import Lock
from types import TracebackType

from navi.batching.servable import Servable
from navi.core.clock import Clock
from navi.server.call import Call
from navi.server.inference.thread_shares import ThreadShares

_VERSIONS = 1024
"""Versions of which counts are kept; past it, the one that was seen first is forgotten."""


@dataclass(slots=True)
class Counts:
    """Sums over calls. last: of the last that ended well, in seconds since the epoch. Durations are in seconds.

    success_s, failed_s: from the door to the reply. read_s, run_s, write_s: of what ended well, by its parts.
    """

    success: int = 0
    failed: int = 0
    success_s: float = 0.0
    failed_s: float = 0.0
    read_s: float = 0.0
    run_s: float = 0.0
    write_s: float = 0.0
    last: float = 0.0


class Tally:
    """Counts by name and version, and a look at who holds the threads. Safe to use from many threads."""

    def __init__(self, clock: Clock, shares: ThreadShares) -> None:
        self.shares = shares
        self._clock = clock
        self._counts: dict[tuple[str, int], Counts] = {}
        self._lock = Lock()

    def of(self, servable: Servable) -> Counts:
        """A copy."""
        with self._lock:
            kept = self._counts.get((servable.name, servable.version), Counts())
            return Counts(*(getattr(kept, name) for name in Counts.__slots__))

    def timed(self, servable: Servable, call: Call) -> "Lap":
        """Times a block that answers a call; it tells when the model is asked, and when it has answered."""
        return Lap(self, servable, call)

    def add(self, lap: "Lap", *, failed: bool) -> None:
        now = self._clock.monotonic()
        with self._lock:
            counts = self._entry(lap.servable)
            if failed:
                counts.failed += 1
                counts.failed_s += now - lap.arrived
                return
            counts.success += 1
            counts.success_s += now - lap.arrived
            counts.read_s += lap.asked - lap.began
            counts.run_s += lap.answered - lap.asked
            counts.write_s += time.perf_counter() - lap.answered
            counts.last = self._clock.time()

    def _entry(self, servable: Servable) -> Counts:
        key = (servable.name, servable.version)
        if key not in self._counts and len(self._counts) >= _VERSIONS:
            del self._counts[next(iter(self._counts))]
        return self._counts.setdefault(key, Counts())


class Lap:
    """One call; a context manager."""

    __slots__ = ("_entered", "_tally", "answered", "arrived", "asked", "began", "servable")

    def __init__(self, tally: Tally, servable: Servable, call: Call) -> None:
        self._tally = tally
        self._entered: float | None = None
        self.servable = servable
        self.arrived = call.arrival.monotonic
        self.began = self.asked = self.answered = time.perf_counter()

    def ask(self) -> None:
        """Overloaded where the model holds too many threads already."""
        self._entered = self._tally.shares.enter(self.servable.name)
        self.asked = time.perf_counter()

    def answer(self) -> None:
        self.answered = time.perf_counter()

    def __enter__(self) -> "Lap":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._entered is not None:
            self._tally.shares.leave(self.servable.name, self._entered)
        self._tally.add(self, failed=kind is not None)
