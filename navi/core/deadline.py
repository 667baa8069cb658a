"""The moment after which nobody waits for an answer."""

import math

from navi.core.clock import Clock, SystemClock
from navi.core.errors import Cancelled, DeadlineExceeded

_SYSTEM = SystemClock()


class _Caller:
    """Whether the caller has gone away. Set once and only read after that, so that threads need no lock for it."""

    __slots__ = ("gone",)

    def __init__(self) -> None:
        self.gone = False


class Deadline:
    """A point on the monotonic clock, and whether the caller has gone away before it.

    Deadlines made by `share` end no later than their parent and are cancelled with it.
    """

    __slots__ = ("_caller", "_clock", "at")

    def __init__(self, at: float, clock: Clock = _SYSTEM, caller: _Caller | None = None) -> None:
        self.at = at
        self._clock = clock
        self._caller = caller or _Caller()

    @classmethod
    def after(cls, seconds: float, clock: Clock = _SYSTEM) -> "Deadline":
        """The deadline `seconds` from now (`math.inf`: never)."""
        return cls(clock.monotonic() + seconds, clock)

    @classmethod
    def never(cls, clock: Clock = _SYSTEM) -> "Deadline":
        return cls(math.inf, clock)

    def share(self, fraction: float) -> "Deadline":
        """A deadline that leaves `1 - fraction` of the remaining time to what comes after."""
        if math.isinf(self.at):
            return Deadline(self.at, self._clock, self._caller)
        now = self._clock.monotonic()
        return Deadline(now + max(self.at - now, 0.0) * fraction, self._clock, self._caller)

    def within(self, seconds: float) -> "Deadline":
        """A deadline at most `seconds` from now, and no later than this one."""
        return Deadline(min(self.at, self._clock.monotonic() + seconds), self._clock, self._caller)

    def remaining(self) -> float:
        """Seconds left, never negative; `math.inf` where there is no deadline."""
        return max(self.at - self._clock.monotonic(), 0.0)

    def timeout(self) -> float | None:
        """`remaining`, in the form that waiting calls take (None: for ever)."""
        return None if math.isinf(self.at) else self.remaining()

    def cancel(self) -> None:
        """Record that the caller is gone."""
        self._caller.gone = True

    @property
    def cancelled(self) -> bool:
        return self._caller.gone

    @property
    def expired(self) -> bool:
        return self._clock.monotonic() >= self.at

    def check(self, what: str) -> None:
        """Raise `Cancelled` or `DeadlineExceeded`, naming `what` was about to be done."""
        if self._caller.gone:
            raise Cancelled(f"the caller went away before {what}")
        if self.expired:
            raise DeadlineExceeded(f"the deadline passed before {what}")
