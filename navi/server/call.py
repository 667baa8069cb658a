"""One RPC on its way through the server."""

from collections.abc import Callable
from dataclasses import dataclass, field
from random import getrandbits
from typing import TypeAlias

from navi.core.clock import Clock
from navi.core.deadline import Deadline
from navi.core.errors import NaviError
from navi.core.priority import Priority
from navi.core.query import Query
from navi.core.ranking import Ranking, Scores
from navi.server.outcome import Outcome


@dataclass(frozen=True, slots=True)
class Origin:
    """Who calls, as the metadata tells. caller: a bounded label. traceparent, tracestate: W3C Trace Context."""

    caller: str = ""
    traceparent: str = ""
    tracestate: str = ""

    @property
    def trace_id(self) -> str:
        """32 hexadecimal digits; empty where the caller traces nothing."""
        parts = self.traceparent.split("-")
        return parts[1] if len(parts) >= 4 and len(parts[1]) == 32 else ""


@dataclass(frozen=True, slots=True)
class Arrival:
    """When a call passed the door: seconds since the epoch, and on the monotonic clock."""

    time: float
    monotonic: float

    @classmethod
    def now(cls, clock: Clock) -> "Arrival":
        return cls(clock.time(), clock.monotonic())


@dataclass(frozen=True, slots=True)
class Ending:
    """How a call ended for its caller. code: the gRPC code's name. seconds: from the door to the reply."""

    code: str
    outcome: Outcome
    seconds: float


def _new_id() -> str:
    """12 hexadecimal digits; no secret, so the system, which lets other threads in first, need not be asked."""
    return f"{getrandbits(48):012x}"


@dataclass(slots=True)
class Call:
    """What is known of an RPC.

    path: `/package.Service/Method`. pipeline: a bounded label for metrics. request_id: the caller's name for the
    request, or one of the server's. A handler sets both as soon as it has read them, so that a failure after that can
    be told by them; asked_at (monotonic), query and answer as far as it gets. error: what ended it, where it is known.
    """

    path: str
    deadline: Deadline
    arrival: Arrival
    origin: Origin = Origin()
    request: bytes = b""
    priority: Priority = Priority.ORGANIC
    pipeline: str = ""
    request_id: str = field(default_factory=_new_id)
    asked_at: float = 0.0
    query: Query | None = None
    answer: Ranking | Scores | None = None
    error: NaviError | None = None

    @property
    def method(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def caller(self) -> str:
        return self.origin.caller

    @property
    def degraded(self) -> bool:
        return self.answer is not None and bool(self.answer.degradations)


Handler: TypeAlias = Callable[[bytes, Call], bytes]
"""Answers a serialised request with a serialised reply, or raises; runs on a pool thread."""
