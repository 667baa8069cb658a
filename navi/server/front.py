"""The RPC front: bytes in, bytes out; everything else happens on the pool's threads.

It is thin so that it can be replaced: all it needs are handlers from bytes to bytes, a door, a pool and metrics.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import grpc

from navi.core.clock import Clock
from navi.core.deadline import Deadline
from navi.core.errors import DeadlineExceeded, Overloaded
from navi.server.boundary import Boundary
from navi.server.call import Call, Handler
from navi.server.permits import Permits
from navi.server.pool import Pool
from navi.server.settings import ServerSettings
from navi.server.status import Refusal, refusal_of

Context: TypeAlias = grpc.aio.ServicerContext[Any, Any]
Outcome: TypeAlias = bytes | Refusal
Behavior: TypeAlias = Callable[[bytes, Context], Awaitable[bytes]]


@dataclass(frozen=True, slots=True)
class Front:
    """Admits calls, hands them to the pool, and sends back what comes of them. Runs on one event loop."""

    settings: ServerSettings
    permits: Permits
    pool: Pool
    boundary: Boundary
    clock: Clock

    def handlers(self, service: str, methods: Mapping[str, Handler]) -> grpc.GenericRpcHandler:
        """What a grpc.aio server takes for one service; messages stay bytes."""
        behaviors = {name: self._behavior(name, handler) for name, handler in methods.items()}
        return grpc.method_handlers_generic_handler(
            service,
            {name: grpc.unary_unary_rpc_method_handler(behavior) for name, behavior in behaviors.items()},
        )

    def _behavior(self, method: str, handler: Handler) -> Behavior:
        metrics, overloaded = self.boundary.metrics, self._overloaded()

        async def behave(request: bytes, context: Context) -> bytes:
            if not self.permits.take():
                metrics.refused(method, overloaded.code.name)
                return await _abort(context, overloaded)
            started = self.clock.monotonic()
            call = Call(method, self._deadline(context))
            code = grpc.StatusCode.OK
            try:
                outcome = await self._work(partial(self.boundary.answer, handler, request, call), call.deadline)
                code = outcome.code if isinstance(outcome, Refusal) else code
            except asyncio.CancelledError:
                # So gRPC tells that the caller cancelled, hung up, or let its deadline pass.
                late = call.deadline.remaining() < _EARLY_S
                code = grpc.StatusCode.DEADLINE_EXCEEDED if late else grpc.StatusCode.CANCELLED
                call.deadline.cancel()
                raise
            finally:
                metrics.ended(method, call.pipeline, code.name, self.clock.monotonic() - started)
            return await _abort(context, outcome) if isinstance(outcome, Refusal) else outcome

        return behave

    async def _work(self, answer: Callable[[], Outcome], deadline: Deadline) -> Outcome:
        """What the pool makes of a call, or that it is late.

        The permit belongs to the job and not to the wait: it is given back when the work has ended or was skipped.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Outcome] = loop.create_future()

        def job() -> None:
            outcome = answer()
            self.permits.give()
            with suppress(RuntimeError):  # the loop is closed: the server stopped without waiting for this call
                loop.call_soon_threadsafe(_settle, future, outcome)

        self.pool.submit(job)
        late = loop.call_later(deadline.remaining(), _settle, future, _LATE)
        try:
            return await future
        finally:
            late.cancel()

    def _deadline(self, context: Context) -> Deadline:
        remaining: float | None = context.time_remaining()
        return Deadline.after(self.settings.default_deadline_s if remaining is None else remaining, self.clock)

    def _overloaded(self) -> Refusal:
        message = f"{self.settings.max_in_flight} calls are in flight, as many as this server takes"
        return refusal_of(Overloaded(message, retry_after_s=self.settings.retry_after_s))


_EARLY_S = 0.01
"""By how much gRPC may be ahead of our clock in seeing a deadline pass."""

_LATE = refusal_of(DeadlineExceeded("the deadline passed before there was an answer"))


def _settle(future: "asyncio.Future[Outcome]", outcome: Outcome) -> None:
    if not future.done():
        future.set_result(outcome)


async def _abort(context: Context, refusal: Refusal) -> bytes:
    await context.abort(refusal.code, refusal.message, refusal.metadata)
