"""The edge between handlers and the wire: whatever a handler raises becomes a status here."""

import logging
import uuid
from dataclasses import dataclass

from navi.core.errors import FaultError, NaviError, SetupError
from navi.server.call import Call, Handler
from navi.server.metrics import Metrics
from navi.server.status import Refusal, fault, refusal_of

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Boundary:
    """Runs handlers; never raises."""

    metrics: Metrics

    def answer(self, handler: Handler, request: bytes, call: Call) -> bytes | Refusal:
        """The handler's reply, or how the call ends without one.

        An error of the tree is told as it is; the text of any other stays in the log, and the caller gets its number.
        """
        try:
            call.deadline.check("the request was read")
            return handler(request, call)
        except NaviError as error:
            if isinstance(error, FaultError | SetupError):
                _LOG.error("%s of %r failed: %s", call.method, call.request_id, error, exc_info=error)
            return refusal_of(error, call.request_id)
        except BaseException as error:  # even SystemExit from a plug-in must not end a pool thread and keep its permit
            return self._unexpected(call, error)

    def _unexpected(self, call: Call, error: BaseException) -> Refusal:
        incident = uuid.uuid4().hex
        self.metrics.unexpected(call.method)
        _LOG.critical("incident %s in %s of %r", incident, call.method, call.request_id, exc_info=error)
        return fault(incident, call.request_id)
