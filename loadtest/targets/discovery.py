"""Asking a server what inputs its model has, before it is put under load."""

from collections.abc import Callable
from typing import TypeVar

import grpc
from google.protobuf.message import Message

from navi.client.credentials import Credentials
from navi.core.errors import NotFound, Unavailable

TIMEOUT_S = 5.0

M = TypeVar("M", bound=Message)


def ask(address: str, model: str, *, method: str, request: Message, reply: type[M]) -> M:
    """The answer of a unary method (full path); NotFound where the model is not there, Unavailable for other errors."""
    credentials = Credentials.of_environment()
    with credentials.channel(address, [("grpc.enable_http_proxy", 0)]) as channel:
        call: Callable[..., M] = channel.unary_unary(method, response_deserializer=reply.FromString)
        options = {"timeout": TIMEOUT_S, "wait_for_ready": True, "metadata": credentials.metadata}
        try:
            return call(request.SerializeToString(), **options)
        except grpc.RpcError as error:
            if error.code() is grpc.StatusCode.NOT_FOUND:
                raise NotFound(f"{address}: model", model) from error
            hint = "say what they are (--input)" if error.code() is grpc.StatusCode.UNIMPLEMENTED else "is it up?"
            raise Unavailable(
                f"{address} does not tell the inputs of model {model!r}: {error.code().name} {error.details()}; {hint}"
            ) from error
