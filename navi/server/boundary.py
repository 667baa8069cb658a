"""The edge between handlers and the wire: whatever a handler raises becomes a status here, and watchers are told."""

import logging
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from navi.core.errors import FaultError, NaviError, SetupError
from navi.server.call import Call, Ending, Handler, Origin
from navi.server.call_log import facts_of
from navi.server.callers import Callers
from navi.server.metrics import Metrics
from navi.server.outcome import outcome_of
from navi.server.security.callers import Identity
from navi.server.status import Refusal, fault, refusal_of
from navi.server.watcher import Watcher

_LOG = logging.getLogger(__name__)

Metadata: TypeAlias = Iterable[tuple[str, str | bytes]] | None


@dataclass(frozen=True, slots=True)
class Boundary:
    """Runs handlers; never raises."""

    metrics: Metrics
    callers: Callers
    watchers: tuple[Watcher, ...] = ()

    def origin(self, metadata: Metadata, identity: Identity | None = None) -> Origin:
        """Who calls: by what they have shown, else by what the call's metadata say. Runs on the event loop."""
        shown = "" if identity is None else identity.name
        found = {name: value for name, value in metadata or () if name in _READ}
        if not found:
            return Origin(shown) if shown else _UNKNOWN
        parent, state = found.get("traceparent", ""), found.get("tracestate", "")
        return Origin(shown or self.callers.label(found.get("navi-caller")), str(parent), str(state))

    def answer(self, handler: Handler, request: bytes, call: Call) -> bytes | Refusal:
        """The handler's reply, or how the call ends without one.

        An error of the tree is told as it is; the text of any other stays in the log, and the caller gets its number.
        """
        try:
            call.deadline.check("the request was read")
            return handler(request, call)
        except NaviError as error:
            call.error = error
            if isinstance(error, FaultError | SetupError):
                _LOG.error(
                    "%s of %r failed: %s", call.method, call.request_id, error, exc_info=error, extra=facts_of(call)
                )
            return refusal_of(error, call.request_id)
        except BaseException as error:  # even SystemExit from a plug-in must not end a pool thread and keep its permit
            return self._unexpected(call, error)

    def ended(self, call: Call, code: str, now: float) -> None:
        """The call has ended for its caller with this gRPC code. Runs on the event loop; now: monotonic."""
        ending = Ending(code, outcome_of(code, degraded=call.degraded), now - call.arrival.monotonic)
        self.metrics.ended(call, ending)
        for watcher in self.watchers:
            watcher.ended(call, ending)

    def _unexpected(self, call: Call, error: BaseException) -> Refusal:
        incident = uuid.uuid4().hex
        self.metrics.unexpected(call.method)
        extra = facts_of(call)
        _LOG.critical("incident %s in %s of %r", incident, call.method, call.request_id, exc_info=error, extra=extra)
        return fault(incident, call.request_id)


_READ = frozenset({"navi-caller", "traceparent", "tracestate"})
_UNKNOWN = Origin()
