"""Calls one after another, a few at a time, and what they cost the server."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import grpc
import uvloop

from navi.bench.processes import Started
from navi.core.errors import FaultError

TIMEOUT_S = 30.0
OPTIONS = (("grpc.max_receive_message_length", 64 << 20), ("grpc.max_send_message_length", 64 << 20))

Method: TypeAlias = Any  # gRPC's stubs do not say what a channel's callable is


@dataclass(frozen=True, slots=True)
class Asked:
    """A server's method, what it is asked in turn, and by how many callers at a time."""

    server: Started
    method: str
    requests: Sequence[bytes]
    callers: int = 1


@dataclass(frozen=True, slots=True)
class Cost:
    """cpu_seconds: of the server's whole process, from before the first call to after the last."""

    calls: int
    seconds: float
    cpu_seconds: float

    @property
    def micros(self) -> float:
        """CPU microseconds a call."""
        return self.cpu_seconds * 1e6 / self.calls


def cost(asked: Asked, *, seconds: float) -> Cost:
    """Ask for `seconds`, after a fifth of that to warm up, over one connection. FaultError where a call fails."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_cost(asked, seconds))


def replies(asked: Asked) -> list[bytes]:
    """The reply to each request, asked once."""

    async def ask() -> list[bytes]:
        async with grpc.aio.insecure_channel(asked.server.facts["address"], options=OPTIONS) as channel:
            method: Method = channel.unary_unary(asked.method)
            return [await _call(method, request) for request in asked.requests]

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(ask())


async def _cost(asked: Asked, seconds: float) -> Cost:
    async with grpc.aio.insecure_channel(asked.server.facts["address"], options=OPTIONS) as channel:
        method: Method = channel.unary_unary(asked.method)
        await _ask_for(method, asked, seconds / 5)
        before, started = asked.server.cpu_seconds(), time.monotonic()
        calls = await _ask_for(method, asked, seconds)
        return Cost(calls, time.monotonic() - started, asked.server.cpu_seconds() - before)


async def _ask_for(method: Method, asked: Asked, seconds: float) -> int:
    """How many calls were made; all of them are answered when this returns."""
    until = time.monotonic() + seconds

    async def ask(caller: int) -> int:
        calls = 0
        while calls == 0 or time.monotonic() < until:
            await _call(method, asked.requests[(caller + calls) % len(asked.requests)])
            calls += 1
        return calls

    return sum(await asyncio.gather(*map(ask, range(asked.callers))))


async def _call(method: Method, request: bytes) -> bytes:
    try:
        reply: bytes = await method(request, timeout=TIMEOUT_S)
    except grpc.aio.AioRpcError as error:
        raise FaultError(f"a measured call failed: {error.code().name}: {error.details()}") from error
    return reply
