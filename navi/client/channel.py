"""Calls to a server, bytes to bytes, with errors of the tree."""

import re
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TypedDict, TypeVar, Unpack, cast

import grpc
from google.protobuf.message import Message

from navi.client.credentials import Credentials
from navi.client.failures import error_of
from navi.core.errors import FaultError, InvalidArgument, Unavailable
from navi.wire.buffers import parse

M = TypeVar("M", bound=Message)

_SERVING = b"\x08\x01"
"""`grpc.health.v1.HealthCheckResponse{status: SERVING}`, in bytes: no reason to need another package."""


_CALLER = re.compile(r"[a-z0-9_.-]{1,40}")
_MAX_MESSAGE_BYTES = 64 << 20


class ChannelOptions(TypedDict, total=False):
    """max_message_bytes: of the largest request and reply; 64 MiB where left out.

    caller: who calls, for the server's metrics: at most 40 characters of a-z, 0-9, `_`, `.`, `-`; a server that asks
    for credentials knows it by these. credentials: for such a server, and for one whose calls are encrypted.
    """

    max_message_bytes: int
    caller: str
    credentials: Credentials | None


@dataclass(frozen=True, slots=True)
class Channel:
    """A connection to one target. Safe to use from many threads."""

    grpc: grpc.Channel
    metadata: tuple[tuple[str, str], ...] = ()

    @classmethod
    def open(cls, target: str, **options: Unpack[ChannelOptions]) -> "Channel":
        """InvalidArgument for a caller that is no name."""
        caller, credentials = options.get("caller", ""), options.get("credentials") or Credentials()
        size = options.get("max_message_bytes", _MAX_MESSAGE_BYTES)
        if caller and not _CALLER.fullmatch(caller):
            raise InvalidArgument("caller", f"is {caller!r}, where at most 40 of a-z, 0-9, _ . - are expected")
        limits = [("grpc.max_receive_message_length", size), ("grpc.max_send_message_length", size)]
        metadata = (("navi-caller", caller),) if caller else ()
        return cls(credentials.channel(target, limits), (*metadata, *credentials.metadata))

    def call(self, path: str, request: Message, reply: type[M], timeout_s: float, priority: str = "") -> M:
        """The reply to a unary call; raises what `error_of` makes of a failure. priority: by its name, if any."""
        metadata = (*self.metadata, ("navi-priority", priority)) if priority else self.metadata
        try:
            data = self._method(path)(request.SerializeToString(), timeout=timeout_s, metadata=metadata)
        except grpc.RpcError as error:
            raise error_of(cast("grpc.Call", error)) from error
        try:
            return parse(reply, data)
        except InvalidArgument as error:
            raise FaultError(f"the reply to {path} is damaged: {error}") from error

    def wait_ready(self, timeout_s: float) -> None:
        """Return once the server says that it serves; Unavailable where it does not within `timeout_s`."""
        until = time.monotonic() + timeout_s
        check = self._method("/grpc.health.v1.Health/Check")
        while (left := until - time.monotonic()) > 0:
            with suppress(grpc.RpcError):  # not there yet, or on its way out
                if check(b"", timeout=left, wait_for_ready=True) == _SERVING:
                    return
            time.sleep(min(0.05, max(until - time.monotonic(), 0.0)))
        raise Unavailable(f"the server was not ready within {timeout_s} s")

    def close(self) -> None:
        self.grpc.close()

    def _method(self, path: str) -> Callable[..., bytes]:
        return cast("Callable[..., bytes]", self.grpc.unary_unary(path))
