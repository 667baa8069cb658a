"""A line in the log for each call that failed or was slow."""

import logging

from navi.server.call import Call, Ending

_LOG = logging.getLogger(__name__)


def facts_of(call: Call, ending: Ending | None = None) -> dict[str, dict[str, object]]:
    """What identifies a call in the log, and how it ended, as `extra=` of a record takes it."""
    facts = {
        "request_id": call.request_id,
        "method": call.method,
        "pipeline": call.pipeline,
        "caller": call.caller,
        "trace_id": call.origin.trace_id,
    }
    told: dict[str, object] = {name: value for name, value in facts.items() if value}
    if ending is not None:
        told |= {"outcome": ending.outcome, "seconds": round(ending.seconds, 6)}
    return {"call": told}


class CallLog:
    """A watcher. Faults have a line already when they end here, with their trace; shed calls never come here."""

    def __init__(self, slow_s: float) -> None:
        """slow_s: from how many seconds a call is slow; 0: none is."""
        self._slow_s = slow_s

    def ended(self, call: Call, ending: Ending) -> None:
        if ending.outcome == "error":
            return
        if ending.outcome not in ("ok", "degraded"):
            why = call.error or "nobody waits any more"
            _LOG.info("%s ended as %s: %s", call.method, ending.code, why, extra=facts_of(call, ending))
        elif self._slow_s and ending.seconds >= self._slow_s:
            _LOG.warning("%s was slow: %.1f ms", call.method, ending.seconds * 1000, extra=facts_of(call, ending))

    def close(self) -> None:
        pass
