"""The RPC front: bytes in, bytes out; everything else happens on the pool's threads.

It is thin so that it can be replaced: all it needs are handlers from bytes to bytes, a door, a pool and metrics.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import grpc

from navi.core.clock import Clock
from navi.core.deadline import Deadline
from navi.core.errors import DeadlineExceeded, Overloaded
from navi.server.boundary import Boundary
from navi.server.call import Call, Handler
from navi.server.metrics import Metrics
from navi.server.permits import Permits
from navi.server.pool import Pool
from navi.server.settings import ServerSettings
from navi.server.status import Refusal, refusal_of

Context: TypeAlias = "grpc.aio.ServicerContext[bytes, bytes]"
Outcome: TypeAlias = bytes | Refusal
Behavior: TypeAlias = Callable[[bytes, Context], Awaitable[bytes]]


@dataclass(frozen=True, slots=True)
class Front:
    """Admits calls, hands them to the pool, and sends back what comes of them. Runs on one event loop."""

    settings: ServerSettings
    permits: Permits
    pool: Pool
    metrics: Metrics
    clock: Clock

    def handlers(self, service: str, methods: Mapping[str, Handler]) -> grpc.GenericRpcHandler:
        """What a grpc.aio server takes for one service; messages stay bytes."""
        boundary = Boundary(self.metrics)
        overloaded = self._overloaded()
        return grpc.method_handlers_generic_handler(
            service,
            {
                name: grpc.unary_unary_rpc_method_handler(self._behavior(name, partial(boundary.answer, handler), overloaded))
                for name, handler in methods.items()
            },
        )

    def _behavior(self, method: str, answer: Callable[[bytes, Call], Outcome], overloaded: Refusal) -> Behavior:
        async def behave(request: bytes, context: Context) -> bytes:
            if not self.permits.take():
                self.metrics.refused(method, overloaded.code.name)
                return await _abort(context, overloaded)
            started = self.clock.monotonic()
            call = Call(method, self._deadline(context))
            code = grpc.StatusCode.OK
            try:
                outcome = await self._work(partial(answer, request, call), call)
                if isinstance(outcome, Refusal):
                    code = outcome.code
                    return await _abort(context, outcome)
                return outcome
            except asyncio.CancelledError:
                # gRPC cancels the task when the caller cancels, disconnects, or its deadline passes.
                code = grpc.StatusCode.DEADLINE_EXCEEDED if call.deadline.expired else grpc.StatusCode.CANCELLED
                call.deadline.cancel()
                raise
            finally:
                self.metrics.ended(method, call.pipeline, code.name, self.clock.monotonic() - started)

        return behave

    async def _work(self, answer: Callable[[], Outcome], call: Call) -> Outcome:
        """The outcome from the pool. The permit is the job's: it is given back when the work has ended, not the wait."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Outcome] = loop.create_future()

        def job() -> None:
            try:
                outcome = answer()
            finally:
                self.permits.give()
            with suppress(RuntimeError):  # the loop is closed: the server stopped without waiting for this call
                loop.call_soon_threadsafe(_settle, future, outcome)

        self.pool.submit(job)
        late = loop.call_later(min(call.deadline.remaining(), ...), ...)
        try:
            return await future
        finally:
            late.cancel()
