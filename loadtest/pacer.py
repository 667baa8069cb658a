"""Wakes the event loop when calls are due, whatever the loop waits for."""

import asyncio
import time
from collections.abc import Callable
from threading import Event, Thread

import numpy as np

from navi.core.arrays import F64


class Pacer(Thread):
    """Calls `send(first, last)` on the loop when the calls first..last-1 are due, and `ended()` after the last.

    A thread of its own, since the loop's timers tick in milliseconds while a sleeping thread wakes within a tenth of
    one. It follows the monotonic clock: a wall clock that jumps does not reach it.
    """

    def __init__(
        self,
        due: F64,
        start: float,
        *,
        loop: asyncio.AbstractEventLoop,
        send: Callable[[int, int], None],
        ended: Callable[[], None],
    ) -> None:
        """due: seconds from `start`, which is a time of the monotonic clock."""
        super().__init__(name="pacer", daemon=True)
        self._due = due
        self._start = start
        self._loop = loop
        self._send = send
        self._ended = ended
        self._stopped = Event()

    def run(self) -> None:
        first, count = 0, len(self._due)
        while first < count and not self._stopped.is_set():
            now = time.monotonic() - self._start
            if self._due[first] > now:
                self._stopped.wait(self._due[first] - now)
                continue
            last = int(np.searchsorted(self._due, now, side="right"))
            self._tell(self._send, first, last)
            first = last
        self._tell(self._ended)

    def stop(self) -> None:
        self._stopped.set()

    def _tell(self, what: Callable[..., None], *arguments: int) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(what, *arguments)
