"""A Navi server: pipelines and feature stores behind a gRPC port, with a second port for those who watch."""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass

import grpc
from grpc_health.v1 import health_pb2_grpc
from grpc_reflection.v1alpha import reflection
from prometheus_client import CollectorRegistry

from navi.core.clock import Clock, SystemClock
from navi.core.errors import ConfigError
from navi.core.pipeline import Pipeline
from navi.features.store import FeatureStore
from navi.server import feature_service, health, ranking_service
from navi.server.boundary import Boundary
from navi.server.feature_service import FeatureService
from navi.server.front import Front
from navi.server.health import Health
from navi.server.http import HttpServer, Site
from navi.server.metrics import Metrics
from navi.server.permits import Permits
from navi.server.pool import Pool
from navi.server.ranking_service import RankingService
from navi.server.settings import ServerSettings, split_address

_LOG = logging.getLogger(__name__)

SERVICES = (ranking_service.SERVICE, feature_service.SERVICE)


@dataclass(frozen=True, slots=True)
class Ports:
    """Where a started server listens; `http` is None where it is turned off."""

    grpc: int
    http: int | None


class Server:
    """Serves until it is stopped, once. The pipelines and stores stay the caller's, who closes them afterwards.

    `start` and `stop` run on one event loop; what serves in the background for a test is `running_server`, in the
    foreground for an operator `serve`.
    """

    def __init__(
        self,
        settings: ServerSettings,
        pipelines: Mapping[str, Pipeline],
        stores: Mapping[str, FeatureStore],
        clock: Clock = SystemClock(),  # noqa: B008 (it has no state)
    ) -> None:
        self._settings = settings
        self._pipelines = pipelines
        self._stores = stores
        self._clock = clock
        self._permits = Permits(settings.max_in_flight)
        self._metrics = Metrics(lambda: self._permits.in_use)
        self._pool = Pool(settings.threads)
        self._health = Health(SERVICES)
        self._http: HttpServer | None = None
        self._rpc: grpc.aio.Server | None = None

    @property
    def registry(self) -> CollectorRegistry:
        """What `/metrics` shows; collectors of other rooms may be registered with it."""
        return self._metrics.registry

    @property
    def settings(self) -> ServerSettings:
        return self._settings

    async def start(self) -> Ports:
        """Bind, listen, and be ready.

        Raises ConfigError where an address is taken or is none of this machine's; nothing listens then.
        """
        self._http = self._bind_http()
        try:
            self._rpc, port = self._bind_rpc()
        except ConfigError:
            await self._close_http()
            raise
        self._pool.start()
        await self._rpc.start()
        if self._http is not None:
            self._http.start()
        self._health.set_ready(True)
        return Ports(port, None if self._http is None else self._http.port)

    async def stop(self, grace_s: float | None = None) -> None:
        """Say that the server is not ready, let calls in flight finish for `grace_s` (default: `drain_s`), and end.

        Calls that are not done by then are cancelled, and what works on them is left to its daemon thread.
        """
        assert self._rpc is not None
        grace_s = self._settings.drain_s if grace_s is None else grace_s
        self._health.set_ready(False)
        await asyncio.sleep(self._settings.lame_duck_s)
        self._health.close()
        await self._rpc.stop(grace_s)
        if not await asyncio.to_thread(self._pool.close, 1.0):
            _LOG.warning("stopped while calls were still being worked on")
        await self._close_http()

    def _bind_http(self) -> HttpServer | None:
        if not self._settings.http_address:
            return None
        site = Site(self.registry, lambda: self._health.ready, self._facts)
        try:
            return HttpServer(*split_address(self._settings.http_address), site)
        except OSError as error:
            raise ConfigError("http_address", f"cannot listen on {self._settings.http_address}: {error}") from error

    def _bind_rpc(self) -> tuple[grpc.aio.Server, int]:
        rpc = grpc.aio.server(options=self._options())
        front = Front(self._settings, self._permits, self._pool, Boundary(self._metrics), self._clock)
        ranking = RankingService(self._pipelines, self._metrics, self._clock)
        features = FeatureService(self._stores)
        rpc.add_generic_rpc_handlers(
            (
                front.handlers(ranking_service.SERVICE, ranking.methods),
                front.handlers(feature_service.SERVICE, features.methods),
            )
        )
        health_pb2_grpc.add_HealthServicer_to_server(self._health, rpc)
        if self._settings.reflection:
            reflection.enable_server_reflection((*SERVICES, health.SERVICE, reflection.SERVICE_NAME), rpc)
        try:
            return rpc, rpc.add_insecure_port(self._settings.address)
        except RuntimeError as error:
            raise ConfigError("address", f"cannot listen on {self._settings.address}: is it in use?") from error

    def _options(self) -> list[tuple[str, int]]:
        size = self._settings.max_message_bytes
        return [
            ("grpc.max_receive_message_length", size),
            ("grpc.max_send_message_length", size),
            ("grpc.so_reuseport", 0),  # or a second server would bind silently and take half of the calls
        ]

    def _facts(self) -> dict[str, str]:
        return {
            "pipelines": ", ".join(sorted(self._pipelines)),
            "feature stores": ", ".join(sorted(self._stores)),
            "calls in flight": f"{self._permits.in_use} of at most {self._settings.max_in_flight}",
        }

    async def _close_http(self) -> None:
        if self._http is not None:
            await asyncio.to_thread(self._http.close)
