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
from navi.core.errors import AbandonedError, CallerError, Cancelled, DeadlineExceeded, RetryError
from navi.server.admission import Admission, priority_of
from navi.server.boundary import Boundary
from navi.server.call import Arrival, Call, Handler
from navi.server.door import Ticket
from navi.server.pool import Pool
from navi.server.security.gate import Gate
from navi.server.settings import ServerSettings
from navi.server.status import Refusal, refusal_of

Context: TypeAlias = grpc.aio.ServicerContext[Any, Any]
Outcome: TypeAlias = bytes | Refusal
Behavior: TypeAlias = Callable[[bytes, Context], Awaitable[bytes]]


@dataclass(frozen=True, slots=True)
class Front:
    """Admits calls, hands them to the pool, and sends back what comes of them. Runs on one event loop."""

    settings: ServerSettings
    admission: Admission
    pool: Pool
    boundary: Boundary
    clock: Clock
    gate: Gate

    def handlers(self, service: str, methods: Mapping[str, Handler]) -> grpc.GenericRpcHandler:
        """What a grpc.aio server takes for one service; messages stay bytes."""
        behaviors = {name: self.behavior(f"/{service}/{name}", handler) for name, handler in methods.items()}
        return grpc.method_handlers_generic_handler(
            service,
            {name: grpc.unary_unary_rpc_method_handler(behavior) for name, behavior in behaviors.items()},
        )

    def behavior(self, path: str, handler: Handler) -> Behavior:
        """What answers one unary method, `/package.Service/Method`."""
        boundary, admission, method = self.boundary, self.admission, path.rpartition("/")[2]
        metrics, admit = boundary.metrics, self.gate.admit(path)

        async def behave(request: bytes, context: Context) -> bytes:
            try:
                identity = admit(context)
                metadata = context.invocation_metadata()
                priority = priority_of(metadata)
            except CallerError as error:
                refusal = refusal_of(error)
                metrics.turned_away(method, refusal.code.name)
                return await _abort(context, refusal)
            origin = boundary.origin(metadata, identity)
            deadline = self._deadline(context)
            ticket = admission.ask(method, origin.caller, priority, deadline.remaining())
            if isinstance(ticket, Refusal):
                return await _abort(context, ticket)
            metrics.entered()
            call = Call(path, deadline, Arrival.now(self.clock), origin, request, priority)
            code = grpc.StatusCode.OK
            try:
                outcome = await self._work(partial(boundary.answer, handler, request, call), call, ticket)
                code = outcome.code if isinstance(outcome, Refusal) else code
            except asyncio.CancelledError:
                # So gRPC tells that the caller cancelled, hung up, or let its deadline pass.
                late = call.deadline.remaining() < _EARLY_S
                code = grpc.StatusCode.DEADLINE_EXCEEDED if late else grpc.StatusCode.CANCELLED
                call.deadline.cancel()
                raise
            finally:
                boundary.ended(call, code.name, self.clock.monotonic())
            return await _abort(context, outcome) if isinstance(outcome, Refusal) else outcome

        return behave

    async def _work(self, answer: Callable[[], Outcome], call: Call, ticket: Ticket) -> Outcome:
        """What the pool makes of a call, or that it is late.

        The ticket belongs to the job and not to the wait: it ends when the work has ended or was skipped.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Outcome] = loop.create_future()

        def job() -> None:
            outcome = self._worked(answer, call, ticket)
            self.boundary.metrics.left()
            with suppress(RuntimeError):  # the loop is closed: the server stopped without waiting for this call
                loop.call_soon_threadsafe(_settle, future, outcome)

        self.pool.submit(job, call.priority, call.arrival.monotonic)
        late = loop.call_later(call.deadline.remaining(), _settle, future, _LATE)
        try:
            outcome = await future
        finally:
            late.cancel()
        if ticket.ended:
            self.admission.door.returned(ticket)
        return outcome

    def _worked(self, answer: Callable[[], Outcome], call: Call, ticket: Ticket) -> Outcome:
        """What comes of a call whose turn has come. Nothing, where nobody waits for it or it would be late."""
        door = self.admission.door
        if call.deadline.cancelled or not door.begin(ticket, call.deadline.remaining()):
            door.skip(ticket)
            self.boundary.metrics.skipped(call.method, "cancelled" if call.deadline.cancelled else "deadline")
            return _GONE if call.deadline.cancelled else _LATE
        outcome = answer()
        door.end(ticket, call.pipeline, whole=not isinstance(call.error, AbandonedError | RetryError))
        return outcome

    def _deadline(self, context: Context) -> Deadline:
        remaining: float | None = context.time_remaining()
        return Deadline.after(self.settings.default_deadline_s if remaining is None else remaining, self.clock)


_EARLY_S = 0.01
"""By how much gRPC may be ahead of our clock in seeing a deadline pass."""

_LATE = refusal_of(DeadlineExceeded("the deadline passed before there was an answer"))
_GONE = refusal_of(Cancelled("the caller went away before the request was read"))


def _settle(future: "asyncio.Future[Outcome]", outcome: Outcome) -> None:
    if not future.done():
        future.set_result(outcome)


async def _abort(context: Context, refusal: Refusal) -> bytes:
    try:
        await context.abort(refusal.code, refusal.message, refusal.metadata)
    except grpc.aio.InternalError:  # the caller has gone while it was told; gRPC would log it as our fault
        raise asyncio.CancelledError from None
