"""Work that calls leave behind, done by a thread of its own."""

import logging
from collections.abc import Callable
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Generic, TypeVar

T = TypeVar("T")

_LOG = logging.getLogger(__name__)

_IDLE_S = 1.0


class Background(Generic[T]):
    """Works on what is put before it, in order; whoever puts never waits.

    work: may raise anything; the first of several failures in a row is logged, and `failed` is told each thing. idle:
    runs at least once a second, and once at the end; must not raise. The thread is a daemon: a disk that
    hangs does not keep the process alive.
    """

    def __init__(
        self,
        name: str,
        work: Callable[[T], None],
        *,
        limit: int,
        failed: Callable[[T], None],
        idle: Callable[[], None] = lambda: None,
    ) -> None:
        self._name = name
        self._work = work
        self._limit = limit
        self._failed = failed
        self._idle = idle
        self._failing = False
        self._queue: SimpleQueue[T | None] = SimpleQueue()
        self._thread = Thread(target=self._run, name=f"navi-{name}", daemon=True)

    def start(self) -> "Background[T]":
        self._thread.start()
        return self

    def put(self, thing: T) -> bool:
        """Whether there was room for it: at most `limit` things wait."""
        if self._queue.qsize() >= self._limit:
            return False
        self._queue.put(thing)
        return True

    def close(self, timeout_s: float = 10.0) -> bool:
        """Finish what waits, for at most this long; whether it is finished."""
        self._queue.put(None)
        self._thread.join(timeout_s)
        finished = not self._thread.is_alive()
        if not finished:
            _LOG.warning("the %s did not finish in %.0f s", self._name, timeout_s)
        return finished

    def _run(self) -> None:
        going_on = True
        while going_on:
            try:
                thing = self._queue.get(timeout=_IDLE_S)
            except Empty:
                self._idle()
                continue
            going_on = thing is not None
            if thing is not None:
                self._try(thing)
            self._idle()
            del thing  # or an idle thread would keep the last call in memory

    def _try(self, thing: T) -> None:
        try:
            self._work(thing)
            self._failing = False
        except Exception:  # a plug-in may be asked what it served, and a disk may be full; calls go on
            if not self._failing:  # a disk that is full would fill the log, too
                _LOG.exception("the %s failed", self._name)
            self._failing = True
            self._failed(thing)
