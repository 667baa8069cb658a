"""A client process: it sends its share of the calls when they are due, and reports them."""

import asyncio
import gc
import itertools
import os
import signal
import sys
import time
from collections.abc import Awaitable
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection
from threading import Thread

import numpy as np
import uvloop

from loadtest.caller import BEHIND_S, Caller, Method
from loadtest.connections import close, connect
from loadtest.messages import BEHIND, Done, Failed, Ready, Share
from loadtest.pacer import Pacer
from loadtest.result import Generator
from loadtest.target import Target
from navi.client.credentials import Credentials
from navi.core.arrays import F64
from navi.core.errors import NaviError

REPORT_S = 0.25
SETTLE_S = 1.0
"""How long a call may stay out past its deadline."""

MAX_REQUEST_BYTES = 256 << 20
MAX_REQUESTS = 100_000
"""Of one process; where more calls are due, requests are sent again in turn."""

SWITCH_S = 0.0005
"""How long the loop may keep the pacer from the interpreter."""


def serve_share(share: Share, pipe: Connection) -> None:
    """Entry point of the process. Ctrl-C is the coordinator's business: it tells, or its end of the pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.setswitchinterval(SWITCH_S)
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_run(share, pipe))
    except NaviError as error:
        pipe.send(Failed(str(error)))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        pass  # the coordinator is gone: nobody wants to know


def make_requests(target: Target, calls: int, seed: np.random.SeedSequence) -> list[bytes]:
    """Requests for so many calls, or as many as may be held."""
    generator = np.random.default_rng(seed)
    first = target.requests(min(calls, 16), generator)
    mean = max(sum(map(len, first)) // len(first), 1)
    count = min(calls, MAX_REQUESTS, max(MAX_REQUEST_BYTES // mean, len(first)))
    return first if count <= len(first) else target.requests(count, generator)


async def _run(share: Share, pipe: Connection) -> None:
    calls = len(share.due) or MAX_REQUESTS
    requests = make_requests(share.target, calls, share.seed)
    channels = await connect(share.address, share.connections, share.connect_s)
    gc.freeze()  # what was made so far stays: no need to look through it again
    pipe.send(Ready(len(requests)))
    start: float | None = await asyncio.get_running_loop().run_in_executor(None, pipe.recv)
    if start is None:
        pipe.send(Done(None))
        await close(channels)
        return
    metadata = Credentials.of_environment().metadata or None
    methods: list[Method] = [partial(each.unary_unary(share.target.method), metadata=metadata) for each in channels]
    caller = Caller(methods, requests, share.target, timeout_s=share.timeout_s, start=start)
    await asyncio.sleep(start - time.monotonic())
    cpu, began = time.process_time(), time.monotonic()
    await _send_and_report(share, caller, pipe)
    pipe.send(Done(_generator(share, caller, time.process_time() - cpu, time.monotonic() - began)))
    await close(channels)


async def _send_and_report(share: Share, caller: Caller, pipe: Connection) -> None:
    """Run the share to its end, or until the coordinator says stop or goes away."""
    loop, stopped = asyncio.get_running_loop(), asyncio.Event()
    Thread(target=_tell_stop, args=(pipe, loop, stopped), name="stop", daemon=True).start()
    reporter = loop.create_task(_report(caller, pipe))
    try:
        if share.callers:
            await _closed_loop(share, caller, stopped)
        else:
            await _open_loop(share.due, caller, stopped)
        await caller.settle(0.0 if stopped.is_set() else share.timeout_s + SETTLE_S)
    finally:
        reporter.cancel()
    if caller.behind.is_set():
        pipe.send(Failed(f"it was {BEHIND_S:g} s {BEHIND}: more calls than one process sends; use more processes"))
    pipe.send(caller.tally.take())


async def _open_loop(due: F64, caller: Caller, stopped: asyncio.Event) -> None:
    """Send every call when it is due, until all are sent, this process cannot keep up, or the coordinator says stop."""
    loop, ended = asyncio.get_running_loop(), asyncio.Event()

    def send(first: int, last: int) -> None:
        if not caller.behind.is_set() and not stopped.is_set():
            for number in range(first, last):
                caller.send(number, float(due[number]))

    pacer = Pacer(due, caller.start, loop=loop, send=send, ended=ended.set)
    pacer.start()
    await _first_of(ended.wait(), stopped.wait(), caller.behind.wait())
    pacer.stop()
    pacer.join()


async def _closed_loop(share: Share, caller: Caller, stopped: asyncio.Event) -> None:
    """So many callers, each of which sends when its answer has come, for so long or until the coordinator says stop."""
    numbers = itertools.count()

    async def keep_calling() -> None:
        while caller.now() < share.seconds:
            await caller.call(next(numbers), caller.now())

    await _first_of(asyncio.gather(*(keep_calling() for _ in range(share.callers))), stopped.wait())


async def _first_of(*waits: Awaitable[object]) -> None:
    """Return when one is over; the others are cancelled. Raises what it raised."""
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    done, others = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    for task in done:
        task.result()


def _tell_stop(pipe: Connection, loop: asyncio.AbstractEventLoop, stopped: asyncio.Event) -> None:
    """Wait for the coordinator to say stop, or to go away.

    On a thread: a loop that watches the pipe makes it non-blocking, and a report that does not fit would be cut off.
    """
    with suppress(EOFError, OSError):
        pipe.recv()
    with suppress(RuntimeError):  # the loop is closed: the share was at its end
        loop.call_soon_threadsafe(stopped.set)


async def _report(caller: Caller, pipe: Connection) -> None:
    while True:
        await asyncio.sleep(REPORT_S)
        pipe.send(caller.tally.take())


def _generator(share: Share, caller: Caller, cpu: float, wall: float) -> Generator:
    return Generator(
        pid=os.getpid(),
        cpu_seconds=cpu,
        wall_seconds=wall,
        cpu_share=cpu / max(wall, 1e-9),
        connections=share.connections,
        calls=caller.tally.calls,
    )
