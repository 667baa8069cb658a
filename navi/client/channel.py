"""Calls to a server, bytes to bytes, with errors of the tree."""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar, cast

import grpc
from google.protobuf.message import Message

from navi.client.failures import error_of
from navi.core.errors import FaultError, InvalidArgument, Unavailable
from navi.wire.buffers import parse

M = TypeVar("M", bound=Message)

_SERVING = b"\x08\x01"
"""`grpc.health.v1.HealthCheckResponse{status: SERVING}`, in bytes: no reason to need another package."""


@dataclass(frozen=True, slots=True)
class Channel:
    """A connection to one target. Safe to use from many threads."""

    grpc: grpc.Channel

    @classmethod
    def open(cls, target: str, max_message_bytes: int) -> "Channel":
        options = [
            ("grpc.max_receive_message_length", max_message_bytes),
            ("grpc.max_send_message_length", max_message_bytes),
        ]
        return cls(grpc.insecure_channel(target, options=options))

    def call(self, path: str, request: Message, reply: type[M], timeout_s: float) -> M:
        """The reply to a unary call; raises what `error_of` makes of a failure."""
        try:
            data = self._method(path)(request.SerializeToString(), timeout=timeout_s)
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
