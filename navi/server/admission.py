"""What a call has to pass before anything of it is read: its caller's quota, and the door."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias

from navi.core.errors import InvalidArgument, Overloaded
from navi.core.priority import Priority
from navi.server.door import Denied, Door, Reason, Ticket
from navi.server.instruments import Instruments
from navi.server.metrics import Metrics
from navi.server.quotas import Quotas
from navi.server.status import Refusal, refusal_of

Metadata: TypeAlias = Iterable[tuple[str, str | bytes]] | None

PRIORITY: Final = "navi-priority"
_PRIORITIES: Final = {priority.name.lower(): priority for priority in Priority}


@dataclass(frozen=True, slots=True)
class Admission:
    """Asked on the event loop; makes nobody wait."""

    door: Door
    quotas: Quotas
    metrics: Metrics

    def ask(self, method: str, caller: str, priority: Priority, remaining_s: float) -> Ticket | Refusal:
        """A ticket of the door, or how the call ends; a refusal is counted."""
        wait_s = self.quotas.wait_s(caller)
        if wait_s > 0.0:
            passed: Ticket | Denied = Denied("quota", f"caller {caller!r} has used up its calls for now", wait_s)
        else:
            passed = self.door.enter(method, priority, remaining_s)
        if isinstance(passed, Denied):
            self.metrics.refused(method, caller, passed.reason)
            return _refusal(passed.reason, passed.message, _rounded(passed.retry_after_s))
        self.quotas.spend(caller)
        return passed


def service_seconds(door: Door, metrics: Metrics) -> Callable[[], None]:
    """Brings the gauge up to date that tells what the door has learned."""
    gauge = Instruments(metrics.registry).gauge(
        "navi_service_seconds",
        "What a call is expected to take once its work begins, at the present load.",
        "max",
        "method",
        "pipeline",
    )

    def sample() -> None:
        for (method, pipeline), seconds in door.learned().items():
            gauge(method, pipeline).set(seconds)

    return sample


def priority_of(metadata: Metadata) -> Priority:
    """By the call's metadata, ORGANIC where they name none; InvalidArgument for one that there is not."""
    for name, value in metadata or ():
        if name == PRIORITY:
            try:
                return _PRIORITIES[str(value)]
            except KeyError:
                known = ", ".join(_PRIORITIES)
                raise InvalidArgument(PRIORITY, f"is {value!r}, where one of {known} is expected") from None
    return Priority.ORGANIC


@lru_cache(1024)
def _refusal(_reason: Reason, message: str, retry_after_s: float) -> Refusal:
    """Making one takes 25 us, and under overload they are all alike."""
    return refusal_of(Overloaded(message, retry_after_s=retry_after_s))


def _rounded(seconds: float) -> float:
    """To two digits."""
    return float(f"{seconds:.2g}")
