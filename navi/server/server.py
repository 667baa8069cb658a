"""A Navi server: pipelines and feature stores behind a gRPC port, with a second port for those who watch."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import grpc
from grpc_health.v1 import health_pb2_grpc
from grpc_reflection.v1alpha import reflection
from prometheus_client import CollectorRegistry

from navi.core.clock import Clock, SystemClock
from navi.core.errors import ConfigError
from navi.core.pipeline import Pipeline
from navi.features.store import FeatureStore
from navi.server import admin_service, feature_service, health, ranking_service
from navi.server.admission import Admission, service_seconds
from navi.server.boundary import Boundary
from navi.server.call import Handler
from navi.server.callers import Callers
from navi.server.changing import Changing
from navi.server.door import Door
from navi.server.engine import Engine, FixedEngine
from navi.server.facts import ServerFacts
from navi.server.feature_service import FeatureService
from navi.server.front import Front
from navi.server.health import Health
from navi.server.http import HttpServer
from navi.server.inference import services
from navi.server.inference.bundle_models import BundleModels
from navi.server.inference.models import Models
from navi.server.inference.services import InferenceServices
from navi.server.metrics import Metrics
from navi.server.pool import Pool
from navi.server.ports import Ports
from navi.server.quality_ladder import QualityLadder
from navi.server.quotas import Quotas
from navi.server.ranking_service import RankingService
from navi.server.reflection import reflection_handler
from navi.server.security.gate import Gate
from navi.server.security.site_door import SiteDoor
from navi.server.security.tls import server_credentials
from navi.server.settings import POOL_S, ServerSettings
from navi.server.site import Site
from navi.server.sockets import connections, stop_listening
from navi.server.watcher import Watcher

_LOG = logging.getLogger(__name__)

_LOOK_S = 0.05

_ASIDE = 2
_ASIDE_LIMIT = 16
"""Threads for what operators ask, and how much of that may be in flight."""

SERVICES = (ranking_service.SERVICE, feature_service.SERVICE, *services.SERVICES)


@dataclass(frozen=True, slots=True)
class Watch:
    """What counts and watches a server's calls, and what is to be said of it. The watchers stay the caller's."""

    metrics: Metrics
    facts: ServerFacts | None = None
    watchers: tuple[Watcher, ...] = ()


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
        watch: Watch | None = None,
    ) -> None:
        self._settings = settings
        self._pipelines = pipelines
        self._stores = stores
        self._clock = clock
        self._watch = watch or Watch(Metrics())
        facts = self._watch.facts or _plain_facts(pipelines, stores, clock)
        self._facts: Callable[[], ServerFacts] = lambda: facts
        self._engine: Engine = FixedEngine(pipelines)
        self._more: dict[str, Mapping[str, Handler]] = {}
        self._metrics = self._watch.metrics
        self._ladder = QualityLadder.of(settings, pipelines, self._metrics, clock)
        self._pool = Pool(settings.threads)
        self._aside = Pool(_ASIDE)
        self._health = Health(SERVICES)
        self._http: HttpServer | None = None
        self._rpc: grpc.aio.Server | None = None
        self._port = 0
        self._models = Models(BundleModels())
        self._inference: InferenceServices | None = None

    def serving(self, models: Models) -> "Server":
        """The same server, which also serves these models to the model protocols; to be called before `start`."""
        self._models = models
        return self

    def following(self, changing: Changing) -> "Server":
        """The same server, whose models come and go; to be called before `start`."""
        self._engine, self._facts = changing.engine, changing.facts
        self._more[admin_service.SERVICE] = changing.admin.methods
        self._health = Health((*SERVICES, *self._more))
        return self

    @property
    def registry(self) -> CollectorRegistry:
        """What `/metrics` shows; collectors of other rooms may be registered with it."""
        return self._metrics.registry

    @property
    def metrics(self) -> Metrics:
        return self._metrics

    @property
    def facts(self) -> ServerFacts:
        return self._facts()

    @property
    def settings(self) -> ServerSettings:
        return self._settings

    async def start(self) -> Ports:
        """Bind, listen, and be ready.

        Raises ConfigError where an address is taken or is none of this machine's; nothing listens then.
        """
        site = Site.of(self.registry, lambda: self._health.ready, self._facts, self._clock)
        site = site.behind(SiteDoor.of(self._settings, self._clock))
        self._http = HttpServer.bound(self._settings.http_address, site)
        try:
            self._rpc, self._port = self._bind_rpc()
        except ConfigError:
            await self._close_http()
            raise
        self._pool.start()
        self._aside.start()
        await self._rpc.start()
        if self._http is not None:
            self._http.start()
        self._health.set_ready(True)
        return Ports(self._port, None if self._http is None else self._http.port)

    async def stop(self, grace_s: float | None = None) -> None:
        """Say that the server is not ready, take no new connections, and end when the calls have been answered.

        No call that reaches the server is lost as long as clients let go of connections that gRPC tells them to leave,
        which happens to each after `max_connection_age_s`: only then gRPC's core is stopped, for it cancels calls that
        come in from that moment. Where connections may get any age (0), a busy server cancels some. Calls that still
        run then have `grace_s` (default: `drain_s`); what works on those that are cancelled after that is left to its
        daemon thread.
        """
        assert self._rpc is not None
        grace_s = self._settings.drain_s if grace_s is None else grace_s
        self._health.set_ready(False)
        await asyncio.sleep(self._settings.lame_duck_s)
        self._health.close()
        if self._inference is not None:
            self._inference.close()
        await self._let_go()
        await self._rpc.stop(grace_s)
        ends = [asyncio.to_thread(pool.close, POOL_S) for pool in (self._pool, self._aside)]
        if not all(await asyncio.gather(*ends)):
            _LOG.warning("stopped while calls were still being worked on")
        await self._close_http()

    async def _let_go(self) -> None:
        """Answer on the connections that there are until each of them has reached its age and was closed."""
        stop_listening(self._port)
        until = self._clock.monotonic() + self._settings.oldest_connection_s
        while self._clock.monotonic() < until and connections(self._port):
            await asyncio.sleep(_LOOK_S)

    def _bind_rpc(self) -> tuple[grpc.aio.Server, int]:
        rpc = grpc.aio.server(options=self._options())
        callers = Callers(self._settings.max_callers, self._settings.quotas)
        boundary = Boundary(self._metrics, callers, (*self._watch.watchers, self._ladder))
        gate = Gate.of(self._settings, self._clock, self._metrics)
        front = Front(self._settings, self._admission(), self._pool, boundary, self._clock, gate)
        aside = replace(front, admission=self._aside_admission(), pool=self._aside)
        ranking = RankingService(self._engine, self._metrics, self._clock, self._ladder)
        features = FeatureService(self._stores)
        size = self._settings.max_message_bytes
        self._inference = InferenceServices.of(
            self._models, lambda: self._health.ready, self._clock, max_bytes=size, threads=self._settings.threads
        )
        rpc.add_generic_rpc_handlers(
            (
                front.handlers(ranking_service.SERVICE, ranking.methods),
                front.handlers(feature_service.SERVICE, features.methods),
                *self._inference.handlers(front, aside),
                *(aside.handlers(name, methods) for name, methods in self._more.items()),
            )
        )
        health_pb2_grpc.add_HealthServicer_to_server(self._health, rpc)
        if self._settings.reflection:
            names = (*SERVICES, *self._more, health.SERVICE, reflection.SERVICE_NAME)
            rpc.add_generic_rpc_handlers((reflection_handler(names, gate),))
        credentials = server_credentials(self._settings, self._clock, self._metrics)
        try:
            if credentials is None:
                return rpc, rpc.add_insecure_port(self._settings.address)
            return rpc, rpc.add_secure_port(self._settings.address, credentials)
        except RuntimeError as error:
            raise ConfigError("address", f"cannot listen on {self._settings.address}: is it in use?") from error

    def _admission(self) -> Admission:
        settings = self._settings
        door = Door(
            threads=settings.threads,
            limit=settings.max_in_flight,
            retry_after_s=settings.retry_after_s,
            clock=self._clock,
        )
        self._metrics.sample_with(service_seconds(door, self._metrics))
        quotas = Quotas(settings.quotas, workers=settings.workers, clock=self._clock)
        return Admission(door, quotas, self._metrics)

    def _aside_admission(self) -> Admission:
        """For calls that may take minutes, as loading a model does, and that have to get through under any load."""
        retry_after_s = self._settings.retry_after_s
        door = Door(threads=_ASIDE, limit=_ASIDE_LIMIT, retry_after_s=retry_after_s, clock=self._clock)
        return Admission(door, Quotas({}, workers=1, clock=self._clock), self._metrics)

    def _options(self) -> list[tuple[str, int]]:
        size, age_s = self._settings.max_message_bytes, self._settings.max_connection_age_s
        age = [("grpc.max_connection_age_ms", round(age_s * 1000))] if age_s else []
        streams = self._settings.max_connection_calls
        age += [("grpc.max_concurrent_streams", streams)] if streams else []
        return [
            *age,
            ("grpc.max_receive_message_length", size),
            ("grpc.max_send_message_length", size),
            # Both, or what is between them is refused by chance.
            ("grpc.max_metadata_size", self._settings.max_metadata_bytes),
            ("grpc.absolute_max_metadata_size", self._settings.max_metadata_bytes),
            # Off for one process, or a second server would bind silently and take half of the calls.
            ("grpc.so_reuseport", int(self._settings.workers > 1)),
        ]

    async def _close_http(self) -> None:
        if self._http is not None:
            await asyncio.to_thread(self._http.close)


def _plain_facts(pipelines: Mapping[str, Pipeline], stores: Mapping[str, FeatureStore], clock: Clock) -> ServerFacts:
    return ServerFacts(
        bundle="", digest="", started=clock.time(), pipelines=tuple(sorted(pipelines)), stores=tuple(sorted(stores))
    )
