"""A server of `navi.v1` that answers after a known time, and misbehaves as told: what the harness is measured by."""

import random
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from threading import Event, Lock
from typing import Any

import grpc

from navi.core.errors import ConfigError, FaultError
from navi.wire.v1 import ranking_pb2

THREADS = 64
STARTING_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class StubSettings:
    """delay_s: from a call's arrival to its answer. stall_at_s, stall_s: from so long after the first call, nothing is
    answered for so long. shed, errors, degraded: shares of the calls. reply_items: in an answer to Rank."""

    address: str = "127.0.0.1:0"
    delay_s: float = 0.005
    stall_at_s: float = 0.0
    stall_s: float = 0.0
    shed: float = 0.0
    errors: float = 0.0
    degraded: float = 0.0
    reply_items: int = 50


class Stub:
    """Answers calls on threads that sleep: a sleeping thread wakes within a tenth of a millisecond, a timer of an event
    loop within one."""

    def __init__(self, settings: StubSettings) -> None:
        self._settings = settings
        self._lock = Lock()
        self._first: float | None = None
        self._chance = random.Random(0)
        self._server = grpc.server(ThreadPoolExecutor(THREADS), options=[("grpc.so_reuseport", 0)])

    def start(self) -> int:
        """Bind and answer; the port. ConfigError where the address is not free."""
        handlers: dict[str, grpc.RpcMethodHandler[Any, Any]] = {
            "Rank": grpc.unary_unary_rpc_method_handler(self._rank),
            "Score": grpc.unary_unary_rpc_method_handler(self._score),
        }
        service = grpc.method_handlers_generic_handler("navi.v1.RankingService", handlers)
        self._server.add_generic_rpc_handlers((service,))
        try:
            port = self._server.add_insecure_port(self._settings.address)
        except RuntimeError as error:
            raise ConfigError("address", f"{self._settings.address} cannot be bound: {error}") from error
        self._server.start()
        return port

    def stop(self) -> None:
        self._server.stop(grace=0.5).wait()

    def _rank(self, request: bytes, context: grpc.ServicerContext) -> bytes:
        k = min(ranking_pb2.RankRequest.FromString(request).k, self._settings.reply_items)
        ids = ranking_pb2.RankResponse().ids
        ids.numbers = bytes(8 * k)
        return self._answer(ranking_pb2.RankResponse(ids=ids, scores=bytes(4 * k), sources=bytes(4 * k)), context)

    def _score(self, request: bytes, context: grpc.ServicerContext) -> bytes:
        n = len(ranking_pb2.ScoreRequest.FromString(request).candidates.ids.numbers) // 8
        return self._answer(ranking_pb2.ScoreResponse(scores=bytes(4 * n), status=bytes(n)), context)

    def _answer(
        self, reply: ranking_pb2.RankResponse | ranking_pb2.ScoreResponse, context: grpc.ServicerContext
    ) -> bytes:
        arrived, settings, chance = time.monotonic(), self._settings, self._next_chance()
        if chance < settings.errors:
            context.abort(grpc.StatusCode.INTERNAL, "the stub was told to fail")
        if chance < settings.errors + settings.shed:
            context.set_trailing_metadata((("grpc-retry-pushback-ms", "100"),))
            context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "the stub was told to refuse")
        if chance < settings.errors + settings.shed + settings.degraded:
            reply.degradations.add(stage="stub", reason="told")
        self._wait(arrived)
        reply.stages.add(name="stub", microseconds=round((time.monotonic() - arrived) * 1e6))
        return reply.SerializeToString()

    def _wait(self, arrived: float) -> None:
        settings = self._settings
        until = arrived + settings.delay_s
        if settings.stall_s and self._first is not None:
            stalled = self._first + settings.stall_at_s
            if until >= stalled and arrived < stalled + settings.stall_s:
                until = max(until, stalled + settings.stall_s)
        time.sleep(max(until - time.monotonic(), 0.0))

    def _next_chance(self) -> float:
        with self._lock:
            if self._first is None:
                self._first = time.monotonic()
            return self._chance.random()


def serve_stub(settings: StubSettings, on_ready: Callable[[int], None]) -> None:
    """Answer until SIGTERM or SIGINT. Call from the main thread."""
    stopped = Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.set())
    stub = Stub(settings)
    on_ready(stub.start())
    stopped.wait()
    stub.stop()


@contextmanager
def running_stub(settings: StubSettings) -> Iterator[str]:
    """A stub in a process of its own for as long as the block lasts; yields its address."""
    ours, theirs = get_context("spawn").Pipe()
    process = get_context("spawn").Process(target=_in_process, args=(settings, theirs), name="navi-stub")
    process.start()
    theirs.close()
    try:
        if not ours.poll(STARTING_S):
            raise FaultError("the stub server did not start in time")
        yield f"{settings.address.rpartition(':')[0]}:{ours.recv()}"
    finally:
        process.terminate()
        process.join()
        ours.close()


def _in_process(settings: StubSettings, pipe: Connection) -> None:
    serve_stub(settings, pipe.send)
