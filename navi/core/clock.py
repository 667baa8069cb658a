"""Time, behind a seam, so that tests decide what time it is."""

import time
from dataclasses import dataclass
from typing import Protocol


class Clock(Protocol):
    """Where every room gets the time from."""

    def monotonic(self) -> float:
        """Seconds on a clock that never goes back; for durations and deadlines."""
        ...

    def time(self) -> float:
        """Seconds since the Unix epoch; for data (`as_of`, recency), never for durations."""
        ...


@dataclass(frozen=True, slots=True)
class SystemClock:
    """The machine's clocks."""

    def monotonic(self) -> float:
        return time.monotonic()

    def time(self) -> float:
        return time.time()


@dataclass(slots=True)
class ManualClock:
    """A clock for tests: it moves only by `advance`."""

    now: float = 1_000_000.0

    def monotonic(self) -> float:
        return self.now

    def time(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds
