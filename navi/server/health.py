"""`grpc.health.v1`: whether the server, and each of its services, takes calls.

Ours, because grpcio-health-checking's asyncio servicer forgets the other watchers of a service when one of them leaves,
and because watchers must be sent home before a drain, which else waits for them.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import Any, TypeAlias

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

Context: TypeAlias = grpc.aio.ServicerContext[Any, Any]

SERVICE = health_pb2.DESCRIPTOR.services_by_name["Health"].full_name


class Health(health_pb2_grpc.HealthServicer):
    """One status for all services; NOT_SERVING until told otherwise. Lives on one event loop."""

    def __init__(self, services: Iterable[str]) -> None:
        self._services = frozenset(services) | {""}
        self._ready = False
        self._closed = False
        self._changed = asyncio.Event()

    @property
    def ready(self) -> bool:
        return self._ready

    def set_ready(self, ready: bool) -> None:
        self._ready = ready
        self._wake()

    def close(self) -> None:
        """Tell every watcher that nothing is served any more, and end its stream."""
        self._ready, self._closed = False, True
        self._wake()

    async def Check(self, request: health_pb2.HealthCheckRequest, context: Context) -> health_pb2.HealthCheckResponse:  # noqa: N802
        if request.service not in self._services:
            await context.abort(grpc.StatusCode.NOT_FOUND, "no such service")
        return self._reply(request.service)

    async def Watch(  # noqa: N802
        self, request: health_pb2.HealthCheckRequest, _context: Context
    ) -> AsyncIterator[health_pb2.HealthCheckResponse]:
        last: health_pb2.HealthCheckResponse | None = None
        while True:
            changed, reply = self._changed, self._reply(request.service)
            if reply != last:
                yield reply
                last = reply
            elif self._closed:
                return
            else:
                await changed.wait()

    def _reply(self, service: str) -> health_pb2.HealthCheckResponse:
        if service not in self._services:
            return health_pb2.HealthCheckResponse(status=health_pb2.HealthCheckResponse.SERVICE_UNKNOWN)
        if not self._ready:
            return health_pb2.HealthCheckResponse(status=health_pb2.HealthCheckResponse.NOT_SERVING)
        return health_pb2.HealthCheckResponse(status=health_pb2.HealthCheckResponse.SERVING)

    def _wake(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
