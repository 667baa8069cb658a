"""The threads that work on calls while the event loop moves bytes."""

import time
from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread
from typing import TypeAlias

Job: TypeAlias = Callable[[], None]


class Pool:
    """Runs jobs first come, first served; the door bounds how many wait. A job must not raise.

    The threads are daemons: a job that hangs past the drain does not keep the process alive.
    """

    def __init__(self, threads: int) -> None:
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._threads = [Thread(target=self._work, name=f"navi-call-{i}", daemon=True) for i in range(threads)]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def submit(self, job: Job) -> None:
        self._jobs.put(job)

    def close(self, timeout_s: float) -> bool:
        """Finish the jobs that wait, for at most this long; whether all threads ended."""
        for _ in self._threads:
            self._jobs.put(None)
        until = time.monotonic() + timeout_s
        for thread in self._threads:
            thread.join(max(until - time.monotonic(), 0.0))
        return not any(thread.is_alive() for thread in self._threads)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()
            del job  # or an idle thread would keep the last request in memory
