"""Sends calls over the connections of one client process, and tells what became of them."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence

import grpc

from loadtest.outcome import outcome_of, text_of
from loadtest.tally import Tally
from loadtest.target import Target

BEHIND_S = 2.0
"""A process so far behind its schedule will not catch up, and measures itself."""

Method = Callable[..., Awaitable[bytes]]


class Caller:
    """Calls one method over many connections in turn; belongs to one event loop."""

    def __init__(
        self, methods: Sequence[Method], requests: Sequence[bytes], target: Target, *, timeout_s: float, start: float
    ) -> None:
        """methods: one a connection. start: the common start, by the monotonic clock.

        `behind` is set, and nothing sent any more, once a call was sent `BEHIND_S` after it was due.
        """
        self.tally = Tally()
        self.behind = asyncio.Event()
        self.start = start
        self._methods = methods
        self._requests = requests
        self._target = target
        self._timeout_s = timeout_s
        self._running: set[asyncio.Task[None]] = set()

    def now(self) -> float:
        """Seconds since the common start."""
        return time.monotonic() - self.start

    def send(self, number: int, due: float) -> None:
        """Start the `number`-th call and wait for nothing."""
        task = asyncio.get_running_loop().create_task(self.call(number, due))
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def call(self, number: int, due: float) -> None:
        connection = number % len(self._methods)
        request = self._requests[number % len(self._requests)]
        sent = self.now()
        if sent - due > BEHIND_S:
            self.behind.set()
        if self.behind.is_set():
            return
        try:
            reply = await self._methods[connection](request, timeout=self._timeout_s)
        except grpc.aio.AioRpcError as error:
            outcome = outcome_of(error)
            self.tally.add(due, sent, self.now(), outcome=outcome, connection=connection)
            if outcome == "error":
                self.tally.add_error(text_of(error))
            return
        ended = self.now()
        try:
            read = self._target.read(reply)
        except ValueError as error:
            self.tally.add(due, sent, ended, outcome="error", connection=connection)
            self.tally.add_error(f"the reply cannot be used: {error}")
            return
        self.tally.add(due, sent, ended, outcome=read.outcome, connection=connection)
        self.tally.add_stages(read.stages)

    async def settle(self, timeout_s: float) -> int:
        """Wait for calls that are out; how many had to be given up."""
        if not self._running:
            return 0
        _, late = await asyncio.wait(set(self._running), timeout=timeout_s)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)
        return len(late)
