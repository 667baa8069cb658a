"""How a call ended, in one word: what a gRPC code means to those who watch."""

from typing import Literal, TypeAlias

Outcome: TypeAlias = Literal["ok", "degraded", "shed", "deadline", "cancelled", "invalid", "unavailable", "error"]

_OUTCOMES: dict[str, Outcome] = {
    "OK": "ok",
    "RESOURCE_EXHAUSTED": "shed",
    "DEADLINE_EXCEEDED": "deadline",
    "CANCELLED": "cancelled",
    "INVALID_ARGUMENT": "invalid",
    "NOT_FOUND": "invalid",
    "UNIMPLEMENTED": "invalid",
    "UNAUTHENTICATED": "invalid",
    "PERMISSION_DENIED": "invalid",
    "UNAVAILABLE": "unavailable",
}


def outcome_of(code: str, *, degraded: bool) -> Outcome:
    """The outcome of a call that ended with this gRPC code's name; `error` for what is nobody's fault but ours."""
    if code == "OK" and degraded:
        return "degraded"
    return _OUTCOMES.get(code, "error")
