"""The door: which calls are taken on, judged by how much is ahead of them and by what such calls have cost so far."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil
from threading import Lock
from typing import Final, Literal, TypeAlias

from navi.core.clock import Clock
from navi.core.learned_time import LearnedTime
from navi.core.priority import Priority

Reason: TypeAlias = Literal["capacity", "deadline", "priority", "quota"]

_TIME: Final = {Priority.ADS: 0.85, Priority.ORGANIC: 0.7, Priority.BACKFILL: 0.5}
"""How much of the time that a call can wait it is taken on to wait; the rest is for what the estimate is wrong by."""

_ROOM: Final = {Priority.ADS: 1.0, Priority.ORGANIC: 0.9, Priority.BACKFILL: 0.5}
"""How many of the calls in flight there may be for a class to be taken on."""

_SPREADS: Final = 2.0
_FADE: Final = 0.95


@dataclass(frozen=True, slots=True)
class Denied:
    """Why a call is not taken on, and when to try again (seconds)."""

    reason: Reason
    message: str
    retry_after_s: float


@dataclass(slots=True)
class Ticket:
    """A call that was taken on. began, ended (monotonic), area: set as its work begins and ends."""

    method: str
    priority: Priority
    began: float = 0.0
    ended: float = 0.0
    area: float = 0.0


class Door:
    """Makes nobody wait: a call is taken on or denied at once. Safe to use from many threads.

    A call is denied where it would not be answered in time: deadline admission, with
        eta = (work that waits ahead of it + half of what is at work) / threads + its own work + margin,
    where the work of a method is learned as a line over the number of calls at work at once: threads that share a core
    or a lock slow each other down, those that wait for another machine do not, and the line tells which. Its own class
    and those above are ahead of a call, and only a share of the time that a call could wait is open to the lower
    classes: they are denied first. margin: twice the spread of that time, and what the way back to the caller takes.
    A call that finds nobody here is always taken on, so that a wrong estimate is mended by the next one.
    """

    def __init__(self, *, threads: int, limit: int, retry_after_s: float, clock: Clock) -> None:
        """threads: that work on calls. limit: calls in flight, waiting ones included."""
        self._threads = threads
        self._limit = limit
        self._retry_after_s = retry_after_s
        self._clock = clock
        self._times: dict[str, LearnedTime] = {}
        self._seen: dict[tuple[str, str], LearnedTime] = {}
        self._waiting: Counter[tuple[Priority, str]] = Counter()
        self._working: Counter[str] = Counter()
        self._queued = self._running = 0
        self._area, self._area_at = 0.0, clock.monotonic()
        self._lag_s = 0.0
        self._lock = Lock()

    def enter(self, method: str, priority: Priority, remaining_s: float) -> Ticket | Denied:
        """Ask for a call that has so many seconds left. A ticket ends with `end`, or with `skip` before its work."""
        with self._lock:
            denied = self._no_room(priority) or self._no_time(method, priority, remaining_s)
            if denied is not None:
                return denied
            self._queued += 1
            self._waiting[priority, method] += 1
            return Ticket(method, priority)

    def begin(self, ticket: Ticket, remaining_s: float) -> bool:
        """The call's turn has come; False where it would end late while others wait: then it is to be skipped."""
        with self._lock:
            if remaining_s <= 0.0 or self._hopeless(ticket.method, remaining_s):
                return False
            self._leave_queue(ticket)
            self._count(1, ticket)
            ticket.began, ticket.area = self._area_at, self._area
            return True

    def skip(self, ticket: Ticket) -> None:
        """The call leaves without having been worked on."""
        with self._lock:
            self._leave_queue(ticket)

    def end(self, ticket: Ticket, pipeline: str, *, whole: bool) -> None:
        """The work is over. whole: it was not given up before its end, so that its time says what such work takes."""
        with self._lock:
            self._count(-1, ticket)
            ticket.ended = self._area_at
            seconds = ticket.ended - ticket.began
            company = (self._area - ticket.area) / seconds if seconds > 0.0 else 1.0
            for times in self._learners(ticket.method, pipeline):
                if whole or seconds > times.at(company):
                    times.observe(company, seconds)

    def returned(self, ticket: Ticket) -> None:
        """The event loop has got the answer from the thread that made it."""
        with self._lock:
            self._lag_s += (1.0 - _FADE) * (self._clock.monotonic() - ticket.ended - self._lag_s)

    @property
    def in_flight(self) -> int:
        return self._queued + self._running

    def learned(self) -> dict[tuple[str, str], float]:
        """Seconds of work by method and pipeline (empty: unknown), in the company that calls have now."""
        with self._lock:
            company = self._company(max(self._running, 1))
            return {key: times.at(company) for key, times in self._seen.items()}

    def _no_room(self, priority: Priority) -> Denied | None:
        in_flight = self._queued + self._running
        if in_flight < ceil(self._limit * _ROOM[priority]):
            return None
        again = max(self._retry_after_s, self._wait(priority) / 2)
        reason: Reason = "priority" if in_flight < ceil(self._limit * _ROOM[Priority.ORGANIC]) else "capacity"
        return Denied(reason, f"{in_flight} calls are in flight, as many as this server takes {_of(priority)}", again)

    def _no_time(self, method: str, priority: Priority, remaining_s: float) -> Denied | None:
        if not self._queued + self._running:
            return None
        times = self._times.get(method)
        own = 0.0
        if times is not None:
            own = times.at(self._company(self._queued + self._running + 1)) + _SPREADS * times.spread + self._lag_s
        late = self._late(priority, own, remaining_s)
        if late <= 0.0:
            return None
        low = priority > Priority.ORGANIC and self._late(Priority.ORGANIC, own, remaining_s) <= 0.0
        message = f"a call {_of(priority)} could not be answered in time now"
        return Denied("priority" if low else "deadline", message, max(self._retry_after_s, late))

    def _late(self, priority: Priority, own_s: float, remaining_s: float) -> float:
        return self._wait(priority) / _TIME[priority] + own_s - remaining_s

    def _hopeless(self, method: str, remaining_s: float) -> bool:
        """Whether a call whose turn has come would end late. Never where nobody else is at work, or waits to be."""
        times = self._times.get(method)
        if times is None or not self._running or self._queued < 2:
            return False
        return times.at(self._company(self._running + 1)) > remaining_s

    def _wait(self, priority: Priority) -> float:
        """Seconds until a new call of this class would have its turn."""
        ahead = [(method, count) for (rank, method), count in self._waiting.items() if rank <= priority]
        if self._running + sum(count for _, count in ahead) < self._threads:
            return 0.0
        return (self._work(ahead) + self._work(self._working.items()) / 2) / self._threads

    def _work(self, counts: Iterable[tuple[str, int]]) -> float:
        """Seconds of so many calls, where all threads are at work."""
        known = ((self._times.get(method), count) for method, count in counts if count)
        return sum(times.at(self._threads) * count for times, count in known if times is not None)

    def _company(self, calls: int) -> int:
        return min(calls, self._threads)

    def _leave_queue(self, ticket: Ticket) -> None:
        self._queued -= 1
        self._waiting[ticket.priority, ticket.method] -= 1

    def _count(self, change: int, ticket: Ticket) -> None:
        now = self._clock.monotonic()
        self._area += self._running * (now - self._area_at)
        self._area_at = now
        self._running += change
        self._working[ticket.method] += change

    def _learners(self, method: str, pipeline: str) -> tuple[LearnedTime, LearnedTime]:
        return (
            self._times.setdefault(method, LearnedTime()),
            self._seen.setdefault((method, pipeline), LearnedTime()),
        )


def _of(priority: Priority) -> str:
    return f"of class {priority.name.lower()}"
