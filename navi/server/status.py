"""How errors look on the wire: the one table from the error tree to gRPC codes, and the details beside them."""

from dataclasses import dataclass

import grpc
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, RequestInfo, ResourceInfo, RetryInfo
from google.rpc.status_pb2 import Status

from navi.core.errors import (
    BackendError,
    BundleError,
    Cancelled,
    ConfigError,
    DeadlineExceeded,
    InvalidArgument,
    ModelError,
    NaviError,
    NotFound,
    Overloaded,
    PermissionDenied,
    StageError,
    StoreError,
    Unauthenticated,
    Unavailable,
    Unsupported,
)

CODES: dict[type[NaviError], grpc.StatusCode] = {
    InvalidArgument: grpc.StatusCode.INVALID_ARGUMENT,
    NotFound: grpc.StatusCode.NOT_FOUND,
    Unauthenticated: grpc.StatusCode.UNAUTHENTICATED,
    PermissionDenied: grpc.StatusCode.PERMISSION_DENIED,
    Unsupported: grpc.StatusCode.UNIMPLEMENTED,
    Overloaded: grpc.StatusCode.RESOURCE_EXHAUSTED,
    Unavailable: grpc.StatusCode.UNAVAILABLE,
    DeadlineExceeded: grpc.StatusCode.DEADLINE_EXCEEDED,
    Cancelled: grpc.StatusCode.CANCELLED,
    ConfigError: grpc.StatusCode.FAILED_PRECONDITION,
    BundleError: grpc.StatusCode.FAILED_PRECONDITION,
    ModelError: grpc.StatusCode.FAILED_PRECONDITION,
    BackendError: grpc.StatusCode.INTERNAL,
    StageError: grpc.StatusCode.INTERNAL,
    StoreError: grpc.StatusCode.INTERNAL,
}

DOMAIN = "navi"
"""`ErrorInfo.domain` of errors from the tree; `reason` is the class's name."""

MAX_TEXT = 400
"""Characters of a message: gRPC peers refuse metadata past 8 KiB, and a character may take 12 bytes of it."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A call's unhappy end: what `ServicerContext.abort` takes."""

    code: grpc.StatusCode
    message: str
    metadata: tuple[tuple[str, str | bytes], ...]


def code_of(error: NaviError) -> grpc.StatusCode:
    """The code of an error's class or of its nearest base in the table; INTERNAL where there is none."""
    for kind in type(error).__mro__:
        if kind in CODES:
            return CODES[kind]
    return grpc.StatusCode.INTERNAL


def refusal_of(error: NaviError, request_id: str = "") -> Refusal:
    """An error as the wire has it: BadRequest, ResourceInfo or RetryInfo where they apply, and ErrorInfo always."""
    message = _short(str(error))
    details = [*_details(error, message), ErrorInfo(reason=type(error).__name__, domain=DOMAIN, metadata=_facts(error))]
    pushback: tuple[tuple[str, str | bytes], ...] = ()
    if isinstance(error, Overloaded):
        pushback = (("grpc-retry-pushback-ms", str(round(error.retry_after_s * 1000))),)
    return _refusal(code_of(error), message, [*details, *_request_info(request_id)], pushback)


def fault(incident: str, request_id: str) -> Refusal:
    """What a caller is told of an error that nobody foresaw: nothing but where the operator finds it in the log."""
    message = f"internal error; the server's log has it as incident {incident}"
    return _refusal(grpc.StatusCode.INTERNAL, message, [*_request_info(request_id)], ())


def _details(error: NaviError, message: str) -> list[Message]:
    if isinstance(error, InvalidArgument):
        violation = BadRequest.FieldViolation(field=_short(error.field), description=_short(error.problem))
        return [BadRequest(field_violations=[violation])]
    if isinstance(error, NotFound):
        return [ResourceInfo(resource_type=error.kind, resource_name=_short(error.name), description=message)]
    if isinstance(error, Overloaded):
        delay = Duration()
        delay.FromNanoseconds(round(error.retry_after_s * 1e9))
        return [RetryInfo(retry_delay=delay)]
    return []


def _facts(error: NaviError) -> dict[str, str]:
    if isinstance(error, StageError):
        return {"stage": _short(error.stage), "problem": _short(error.problem)}
    return {}


def _request_info(request_id: str) -> list[Message]:
    return [RequestInfo(request_id=request_id)] if request_id else []


def _refusal(
    code: grpc.StatusCode, message: str, details: list[Message], metadata: tuple[tuple[str, str | bytes], ...]
) -> Refusal:
    status = Status(code=code.value[0], message=message)
    for detail in details:
        status.details.add().Pack(detail)
    return Refusal(code, message, (("grpc-status-details-bin", status.SerializeToString()), *metadata))


def _short(text: str) -> str:
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 3] + "..."
