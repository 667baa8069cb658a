"""Streams whose messages are calls of their own, each with its own permit, deadline and end."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeAlias

import grpc

Context: TypeAlias = grpc.aio.ServicerContext[Any, Any]
Answer: TypeAlias = Callable[[bytes, Any], Awaitable[bytes]]
"""A unary behaviour: answers a message, or aborts its context."""

_AHEAD = 16
"""Messages of one stream that are worked on while earlier answers are still to be written."""


class MessageStreams:
    """Answers bidirectional streams, message for message and in their order. Lives on one event loop.

    What refuses one message is told in its place, and the stream goes on.
    """

    def __init__(self) -> None:
        self._closing = asyncio.Event()

    def close(self) -> None:
        """Answer what has been read, and end every stream with UNAVAILABLE."""
        self._closing.set()

    def handler(self, answer: Answer, refused: Callable[[bytes, str], bytes]) -> "grpc.RpcMethodHandler[Any, Any]":
        """What a grpc.aio server takes for a method. refused: the message that tells a message's refusal, by its
        text."""

        async def answered(message: bytes, context: Context) -> bytes:
            try:
                return await answer(message, _MessageContext(context))
            except _Refused as refusal:
                return refused(message, str(refusal))

        async def behave(_: Any, context: Context) -> None:
            answers: asyncio.Queue[asyncio.Task[bytes] | None] = asyncio.Queue(_AHEAD)
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(_write(answers, context))
                async for message in _messages(context, self._closing):
                    await answers.put(tasks.create_task(answered(message, context)))
                await answers.put(None)
            if self._closing.is_set():
                await context.abort(grpc.StatusCode.UNAVAILABLE, "the server is stopping: open another stream")

        return grpc.stream_stream_rpc_method_handler(behave)


class _Refused(Exception):
    """A message's call was aborted; the text says how."""


class _MessageContext:
    """A stream's context as the call for one of its messages sees it: to abort it ends this call alone."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    async def abort(self, code: grpc.StatusCode, details: str = "", _metadata: object = ()) -> None:
        raise _Refused(f"{code.name}: {details}")


async def _write(answers: "asyncio.Queue[asyncio.Task[bytes] | None]", context: Context) -> None:
    while (answer := await answers.get()) is not None:
        await context.write(await answer)


async def _messages(context: Context, closing: asyncio.Event) -> Any:
    """A stream's messages until it ends, or until `closing`."""
    closed = asyncio.ensure_future(closing.wait())
    try:
        while not closing.is_set():
            # Left alone where it is not awaited to its end: gRPC ends it with the stream, and stumbles if we do.
            read = asyncio.ensure_future(context.read())
            read.add_done_callback(_heard)
            await asyncio.wait({read, closed}, return_when=asyncio.FIRST_COMPLETED)
            if not read.done() or (message := read.result()) is grpc.aio.EOF:
                return
            yield message
    finally:
        closed.cancel()


def _heard(read: "asyncio.Future[Any]") -> None:
    with suppress(asyncio.CancelledError):
        read.exception()
