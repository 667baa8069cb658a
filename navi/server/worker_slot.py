"""One place for a worker: whoever holds it is replaced when it dies."""

import asyncio
import logging
from pathlib import Path

from prometheus_client.multiprocess import mark_process_dead

from navi.core.clock import Clock
from navi.core.errors import NaviError
from navi.server.facts import ServerFacts
from navi.server.worker_messages import Job
from navi.server.worker_process import WorkerProcess, told

_LOG = logging.getLogger(__name__)

_STEADY_S = 10.0
"""A worker that was ready for so long has not died of its start."""

_FIRST_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 30.0


class WorkerSlot:
    """`start` it once, then let `keep` run until it is cancelled. Lives on the supervisor's event loop."""

    def __init__(self, job: Job, metrics: Path, clock: Clock) -> None:
        self._job = job
        self._metrics = metrics
        self._clock = clock
        self._worker: WorkerProcess | None = None
        self._ready_since: float | None = None
        self.facts: ServerFacts | None = None
        self.restarts = 0

    @property
    def number(self) -> int:
        return self._job.slot

    @property
    def pid(self) -> int | None:
        """Of the process that runs now, ready or not."""
        return None if self._worker is None else self._worker.pid

    @property
    def ready(self) -> bool:
        return self.facts is not None

    async def start(self) -> None:
        """Start a worker, and wait until it takes calls; raises the error for which it does not."""
        self._ready_since = None
        self._worker = WorkerProcess.start(self._job, self._metrics)
        self.facts = await self._worker.ready()
        self._ready_since = self._clock.monotonic()

    async def keep(self) -> None:
        """Wait for the worker's end, and replace it, again and again; the sooner they die, the longer the pauses."""
        quick = 0
        while True:
            await self.ended()
            quick = 0 if self._steady() else quick + 1
            self.restarts += 1
            if quick > 1:
                await asyncio.sleep(min(_FIRST_PAUSE_S * 2 ** (quick - 2), _LONGEST_PAUSE_S))
            try:
                await self.start()
            except NaviError as error:
                _LOG.error("worker %d cannot start: %s", self.number, error)

    def _steady(self) -> bool:
        since = self._ready_since
        return since is not None and self._clock.monotonic() - since > _STEADY_S

    async def ended(self) -> None:
        """Wait for the end of the process that runs now, if any does."""
        if self._worker is None:
            return
        status = await self._worker.ended(self._hear)
        _LOG.log(logging.INFO if status == 0 else logging.ERROR, "worker %d (process %d) %s", *self._told(status))
        self._worker, self.facts = None, None
        mark_process_dead(self.number, str(self._metrics))  # type: ignore[no-untyped-call]

    def _hear(self, facts: ServerFacts) -> None:
        self.facts = facts

    def drain(self) -> None:
        if self._worker is not None:
            self._worker.drain()

    def kill(self) -> None:
        if self._worker is not None:
            self._worker.kill()

    def _told(self, status: int) -> tuple[int, int | None, str]:
        return self.number, self.pid, told(status)
