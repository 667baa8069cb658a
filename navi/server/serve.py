"""Ways to run a server: in the foreground until a signal, or in the background of a test."""

import asyncio
import signal
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from threading import Thread

import uvloop

from navi.server.ports import Ports
from navi.server.server import Server

SIGNALS = (signal.SIGTERM, signal.SIGINT)

_SWITCH_S = 0.0002
"""After which a thread that runs Python lets others have a turn. With Python's own 5 ms the event loop falls behind
under overload, and calls spend their time before the door instead of being refused at it: a quarter of a second, at
four times of what one core can answer."""


def serve(server: Server, on_ready: Callable[[Ports], None]) -> None:
    """Run until SIGTERM or SIGINT, then drain and return; a second signal ends the process at once.

    Call from the main thread. Raises ConfigError where the server cannot start.
    """
    sys.setswitchinterval(_SWITCH_S)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_until_signalled(server, on_ready))


@contextmanager
def running_server(server: Server, grace_s: float | None = None) -> Iterator[Ports]:
    """Run in a thread for as long as the block lasts; yields the ports. Raises what `Server.start` raises."""
    started: Future[tuple[Ports, asyncio.AbstractEventLoop, asyncio.Event]] = Future()
    thread = Thread(target=_run_in_background, args=(server, started, grace_s), name="navi-server")
    thread.start()
    try:
        ports, loop, stopped = started.result()
    except BaseException:
        thread.join()
        raise
    try:
        yield ports
    finally:
        loop.call_soon_threadsafe(stopped.set)
        thread.join()


async def _until_signalled(server: Server, on_ready: Callable[[Ports], None]) -> None:
    loop, signalled = asyncio.get_running_loop(), asyncio.Event()
    ports = await server.start()
    for number in SIGNALS:
        loop.add_signal_handler(number, signalled.set)
    on_ready(ports)
    await signalled.wait()
    for number in SIGNALS:
        loop.remove_signal_handler(number)
    await server.stop()


def _run_in_background(
    server: Server, started: "Future[tuple[Ports, asyncio.AbstractEventLoop, asyncio.Event]]", grace_s: float | None
) -> None:
    async def run() -> None:
        stopped = asyncio.Event()
        try:
            ports = await server.start()
        except BaseException as error:  # raised again where the block is entered
            started.set_exception(error)
            return
        started.set_result((ports, asyncio.get_running_loop(), stopped))
        await stopped.wait()
        await server.stop(grace_s)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run())
