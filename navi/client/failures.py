"""From gRPC's errors back to the error tree."""

from collections.abc import Callable, Mapping
from typing import TypeVar

import grpc
from google.protobuf.message import DecodeError, Message
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, ResourceInfo, RetryInfo
from google.rpc.status_pb2 import Status

from navi.core.errors import (
    BackendError,
    BundleError,
    Cancelled,
    DeadlineExceeded,
    FaultError,
    InvalidArgument,
    ModelError,
    NaviError,
    NotFound,
    Overloaded,
    PermissionDenied,
    SetupError,
    StageError,
    StoreError,
    Unauthenticated,
    Unavailable,
    Unsupported,
)

M = TypeVar("M", bound=Message)

_BY_REASON: Mapping[str, type[NaviError]] = {
    kind.__name__: kind for kind in (BackendError, BundleError, ModelError, StoreError)
}
_BY_CODE: Mapping[grpc.StatusCode, type[NaviError]] = {
    grpc.StatusCode.UNAVAILABLE: Unavailable,
    grpc.StatusCode.UNIMPLEMENTED: Unsupported,
    grpc.StatusCode.DEADLINE_EXCEEDED: DeadlineExceeded,
    grpc.StatusCode.CANCELLED: Cancelled,
    grpc.StatusCode.FAILED_PRECONDITION: SetupError,
    grpc.StatusCode.UNAUTHENTICATED: Unauthenticated,
    grpc.StatusCode.PERMISSION_DENIED: PermissionDenied,
}


def error_of(failed: grpc.Call) -> NaviError:
    """The error that the server raised, as its class was; what only gRPC had a part in, by its code.

    RESOURCE_EXHAUSTED without RetryInfo is how gRPC itself refuses what is too large: InvalidArgument of `message` or
    `metadata`, with the setting that limits it.
    """
    code, message = failed.code(), failed.details() or "no message"
    status = _status(failed)
    build = _BUILDERS.get(code)
    error = None if build is None else build(status, message)
    if error is not None:
        return error
    info = _detail(status, ErrorInfo)
    if info is not None and info.reason == StageError.__name__:
        return StageError(info.metadata["stage"], info.metadata["problem"])
    kind = _BY_CODE.get(code) if info is None else _BY_REASON.get(info.reason, _BY_CODE.get(code))
    return FaultError(f"{code.name}: {message}") if kind is None else kind(message)


def _invalid(status: Status, message: str) -> NaviError | None:
    request = _detail(status, BadRequest)
    if request is None or not request.field_violations:
        return InvalidArgument("request", message)
    return InvalidArgument(request.field_violations[0].field, request.field_violations[0].description)


def _not_found(status: Status, message: str) -> NaviError | None:
    info = _detail(status, ResourceInfo)
    if info is None:
        return None
    error = NotFound(info.resource_type, info.resource_name)
    error.args = (message,)  # the server's text also names what there is
    return error


def _exhausted(status: Status, message: str) -> NaviError | None:
    retry = _detail(status, RetryInfo)
    if retry is None:
        return _too_large(message)
    return Overloaded(message, retry_after_s=retry.retry_delay.ToNanoseconds() / 1e9)


def _too_large(message: str) -> NaviError:
    """gRPC's own words, and the setting that they are about."""
    if "metadata" in message:
        return InvalidArgument("metadata", f"{message}; the server's setting is `max_metadata_bytes`")
    whose = "this client's" if "CLIENT" in message else "the server's"
    return InvalidArgument("message", f"{message}; {whose} setting is `max_message_bytes`")


def _cancelled(status: Status, message: str) -> NaviError | None:
    """gRPC's core answers so, without our details, to a call that reaches a stopping server: it may be sent again."""
    if _detail(status, ErrorInfo) is not None:
        return None
    return Unavailable(f"the server ended the call, as one does that stops ({message})")


_BUILDERS: Mapping[grpc.StatusCode, Callable[[Status, str], NaviError | None]] = {
    grpc.StatusCode.INVALID_ARGUMENT: _invalid,
    grpc.StatusCode.NOT_FOUND: _not_found,
    grpc.StatusCode.RESOURCE_EXHAUSTED: _exhausted,
    grpc.StatusCode.CANCELLED: _cancelled,
}


def _status(failed: grpc.Call) -> Status:
    for key, value in failed.trailing_metadata() or ():
        if key == "grpc-status-details-bin":
            try:
                return Status.FromString(value)
            except DecodeError:  # somebody else's, on the way
                break
    return Status()


def _detail(status: Status, kind: type[M]) -> M | None:
    for detail in status.details:
        if detail.Is(kind.DESCRIPTOR):
            found = kind()
            detail.Unpack(found)
            return found
    return None
