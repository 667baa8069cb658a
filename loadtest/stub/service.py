"""What stub servers of the tensor protocols share: methods by name, errors as statuses, a port."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import grpc
from google.protobuf.message import Message

from navi.core.errors import ConfigError, InvalidArgument, NotFound

MAX_MESSAGE = 64 << 20

Answer = Callable[[Any], Awaitable[Message]]


@dataclass(frozen=True, slots=True)
class Method:
    """A unary method: its request's class, and what answers it; InvalidArgument and NotFound become statuses."""

    request: type[Message]
    answer: Answer


def service(name: str, methods: Mapping[str, Method]) -> grpc.GenericRpcHandler:
    """The handlers of a service by its full name."""
    return grpc.method_handlers_generic_handler(
        name,
        {
            method: grpc.unary_unary_rpc_method_handler(
                _guarded(kind.answer),
                request_deserializer=kind.request.FromString,
                response_serializer=lambda reply: reply.SerializeToString(),
            )
            for method, kind in methods.items()
        },
    )


async def start(*services: grpc.GenericRpcHandler, address: str = "127.0.0.1:0") -> tuple[Any, int]:
    """A serving `grpc.aio.Server` and its port; ConfigError where the address is not free."""
    limits = [("grpc.max_receive_message_length", MAX_MESSAGE), ("grpc.max_send_message_length", MAX_MESSAGE)]
    server = grpc.aio.server(options=[*limits, ("grpc.so_reuseport", 0)])
    server.add_generic_rpc_handlers(services)
    try:
        port = server.add_insecure_port(address)
    except RuntimeError as error:
        raise ConfigError("address", f"{address} cannot be bound: {error}") from error
    await server.start()
    return server, port


def _guarded(answer: Answer) -> Callable[[Message, Any], Awaitable[Message]]:
    async def guarded(request: Message, context: Any) -> Message:
        try:
            return await answer(request)
        except InvalidArgument as error:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
        except NotFound as error:
            await context.abort(grpc.StatusCode.NOT_FOUND, str(error))
        raise AssertionError("abort raises")

    return guarded
