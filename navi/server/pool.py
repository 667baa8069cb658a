"""The threads that work on calls while the event loop moves bytes."""

import time
from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from math import inf
from queue import SimpleQueue
from threading import Lock, Thread
from typing import TypeAlias

from navi.core.priority import Priority

Job: TypeAlias = Callable[[], None]


class Pool:
    """Runs jobs by class, and first come, first served within one; the door bounds how many wait. A job must not raise.

    The threads are daemons: a job that hangs past the drain does not keep the process alive.
    """

    def __init__(self, threads: int) -> None:
        self._jobs: list[tuple[float, int, Job | None]] = []
        self._numbers = count()
        self._lock = Lock()
        self._tokens: SimpleQueue[None] = SimpleQueue()  # one a job: a thread sleeps on it at less cost than otherwise
        self._threads = [Thread(target=self._work, name=f"navi-call-{i}", daemon=True) for i in range(threads)]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def submit(self, job: Job, priority: Priority, arrived: float) -> None:
        """arrived: monotonic."""
        self._put(priority.turn(arrived), job)

    def close(self, timeout_s: float) -> bool:
        """Finish the jobs that wait, for at most this long; whether all threads ended."""
        for _ in self._threads:
            self._put(inf, None)
        until = time.monotonic() + timeout_s
        for thread in self._threads:
            thread.join(max(until - time.monotonic(), 0.0))
        return not any(thread.is_alive() for thread in self._threads)

    def _put(self, turn: float, job: Job | None) -> None:
        with self._lock:
            heappush(self._jobs, (turn, next(self._numbers), job))
        self._tokens.put(None)

    def _next(self) -> Job | None:
        self._tokens.get()
        with self._lock:
            return heappop(self._jobs)[2]

    def _work(self) -> None:
        while (job := self._next()) is not None:
            job()
            del job  # or an idle thread would keep the last request in memory
