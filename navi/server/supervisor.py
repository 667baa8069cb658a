"""Several processes that serve one bundle behind one port, and the one that looks after them.

The supervisor holds the gRPC port without listening at it, serves the second port, and loads neither bundle nor model
runtime. The kernel spreads connections, not calls, over the workers.
"""

import asyncio
import logging
import os
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from navi.bundle.config import BundleConfig
from navi.core.clock import SystemClock
from navi.core.errors import ConfigError
from navi.server.facts import ServerFacts
from navi.server.http import HttpServer
from navi.server.port_reservation import reserved
from navi.server.ports import Ports
from navi.server.security.site_door import SiteDoor
from navi.server.settings import ServerSettings
from navi.server.site import Site
from navi.server.worker_messages import Job
from navi.server.worker_metrics import merged_registry
from navi.server.worker_slot import WorkerSlot

_LOG = logging.getLogger(__name__)

_SPARE_S = 5.0
"""How much longer than it should take the end of a worker is waited for."""


_IN_MEMORY = "/dev/shm"
"""Where workers count, if it is there: they write to mapped files, and on a disk a write can wait for the disk."""


def supervise(bundle: Path, config: BundleConfig, settings: ServerSettings, on_ready: Callable[[Ports], None]) -> None:
    """Serve with `settings.workers` processes until SIGTERM or SIGINT, then drain; a second signal ends all at once.

    Call from the main thread. Raises ConfigError where the bundle cannot be served by several processes or an address
    is taken, and what a worker cannot start for, as long as not all of them have been ready once.
    """
    check_shareable(config)
    place = _IN_MEMORY if os.access(_IN_MEMORY, os.W_OK) else None
    with reserved(settings.address) as port, TemporaryDirectory(prefix="navi-workers-", dir=place) as metrics:
        supervisor = Supervisor(bundle, settings, port, Path(metrics))
        asyncio.run(supervisor.run(on_ready))
    if supervisor.hurried is not None:
        raise SystemExit(128 + supervisor.hurried)


def check_shareable(config: BundleConfig) -> None:
    """Raise ConfigError for what only one process can have."""
    for name, model in config.models.items():
        if model.provider != "cpu":
            problem = f"is more than 1, but one process has to own the device of model {name!r} ({model.provider})"
            raise ConfigError("server.workers", problem)
    for name, store in config.features.items():
        if store.path is None:
            problem = f"is more than 1, but each process would have a feature store {name!r} of its own: give it a path"
            raise ConfigError("server.workers", problem)


class Supervisor:
    """Runs once. port: where the workers listen. metrics: an empty directory for their files."""

    def __init__(self, bundle: Path, settings: ServerSettings, port: int, metrics: Path) -> None:
        self._settings = settings
        self._port = port
        self._clock = SystemClock()
        self._started = self._clock.time()
        self._slots = [WorkerSlot(self._job(bundle, slot), metrics, self._clock) for slot in range(settings.workers)]
        site = Site.of(merged_registry(self._slots, metrics), self._is_ready, self._facts, self._clock)
        self._site = site.behind(SiteDoor.of(settings, self._clock))
        self._serving = False
        self._signalled = asyncio.Event()
        self.hurried: int | None = None

    async def run(self, on_ready: Callable[[Ports], None]) -> None:
        http = HttpServer.bound(self._settings.http_address, self._site)
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, self._on_signal, number)
        try:
            if http is not None:
                http.start()
            if await self._all_started():
                self._serving = True
                on_ready(Ports(self._port, None if http is None else http.port))
                await self._keep_until_signalled()
        finally:
            self._serving = False  # /readyz says so before a worker knows of it
            await self._stop()
            if http is not None:
                await asyncio.to_thread(http.close)

    async def _all_started(self) -> bool:
        """Whether all workers take calls, and nobody wants them to stop; raises for the first that cannot."""
        starts = [asyncio.ensure_future(slot.start()) for slot in self._slots]
        signalled = asyncio.ensure_future(self._signalled.wait())
        try:
            together = asyncio.gather(*starts)
            await asyncio.wait((together, signalled), return_when=asyncio.FIRST_COMPLETED)
            if not together.done():
                return False
            together.result()
            return not self._signalled.is_set()
        finally:
            await _cancelled(*starts, signalled)

    async def _keep_until_signalled(self) -> None:
        keeping = [asyncio.ensure_future(slot.keep()) for slot in self._slots]
        signalled = asyncio.ensure_future(self._signalled.wait())
        try:
            done, _ = await asyncio.wait((*keeping, signalled), return_when=asyncio.FIRST_COMPLETED)
            for one in done:
                one.result()
        finally:
            self._serving = False
            await _cancelled(*keeping, signalled)

    async def _stop(self) -> None:
        for slot in self._slots:
            slot.drain()
        ends = [asyncio.ensure_future(slot.ended()) for slot in self._slots]
        bound_s = self._settings.stopping_s + _SPARE_S
        _, late = await asyncio.wait(ends, timeout=bound_s)
        if late:
            _LOG.warning("%d workers had not stopped after %.0f s and were killed", len(late), bound_s)
            self._kill()
        await asyncio.gather(*ends)

    def _on_signal(self, number: int) -> None:
        if self._signalled.is_set():
            self.hurried = number
            self._kill()
        self._signalled.set()

    def _kill(self) -> None:
        for slot in self._slots:
            slot.kill()

    def _is_ready(self) -> bool:
        return self._serving and any(slot.ready for slot in self._slots)

    def _facts(self) -> ServerFacts | None:
        facts = next((slot.facts for slot in self._slots if slot.facts is not None), None)
        return None if facts is None else replace(facts, started=self._started)

    def _job(self, bundle: Path, slot: int) -> Job:
        host = self._settings.address.rpartition(":")[0]
        mine = {"address": f"{host}:{self._port}", "http_address": ""}
        return Job(str(bundle.resolve()), slot, {**self._settings.model_dump(mode="json"), **mine})


async def _cancelled(*tasks: "asyncio.Future[Any]") -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
