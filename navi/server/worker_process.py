"""One worker's process, as its supervisor holds it."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from navi.core.errors import NaviError, SetupError
from navi.server.facts import ServerFacts
from navi.server.worker_messages import METRICS_DIRECTORY, Job, facts_or_error

_READ_BYTES = 1 << 16


class WorkerProcess:
    """Started when made by `start`; its methods run on the supervisor's event loop, `ready` before `ended`."""

    def __init__(self, process: "subprocess.Popen[bytes]", channel: socket.socket) -> None:
        self._process = process
        self._channel = channel

    @classmethod
    def start(cls, job: Job, metrics: Path) -> "WorkerProcess":
        """A new interpreter that finds the modules which this one finds, in a session of its own.

        So the terminal's Ctrl-C reaches the supervisor alone, which says when workers are to drain.
        """
        path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
        environment = {**os.environ, METRICS_DIRECTORY: str(metrics), "PYTHONPATH": path}
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        with theirs:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "navi.server.worker", str(theirs.fileno()), job.line()],
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                env=environment,
                start_new_session=True,
            )
        return cls(process, ours)

    @property
    def pid(self) -> int:
        return self._process.pid

    async def ready(self) -> ServerFacts:
        """Wait until it takes calls; raises the error for which it does not."""
        line = b""
        while not line.endswith(b"\n"):
            read = await self._read()
            if not read:
                status = await self.ended()
                raise SetupError(f"a worker {told(status)} before it was ready; the log may say why")
            line += read
        return facts_or_error(line)

    async def ended(self, news: Callable[[ServerFacts], None] = lambda _: None) -> int:
        """Wait for its end; the exit status, or minus the number of the signal that ended it.

        news: is told what the worker tells until then.
        """
        told = b""
        while read := await self._read():
            *lines, told = (told + read).split(b"\n")
            for line in lines:
                # Why it ends the log tells; who began to listen late has half a line.
                with suppress(NaviError, ValueError):
                    news(facts_or_error(line))
        status = await asyncio.to_thread(self._process.wait)
        self._channel.close()
        return status

    async def _read(self) -> bytes:
        """What it says next; nothing once its end of the channel is closed."""
        if self._channel.fileno() < 0:
            return b""
        try:
            return await asyncio.get_running_loop().sock_recv(self._channel, _READ_BYTES)
        except ConnectionError:  # it died with something unread
            return b""

    def drain(self) -> None:
        """Ask it to answer what it has, and end."""
        self._process.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self._process.kill()


def told(status: int) -> str:
    """How a process ended, in words."""
    return f"ended with status {status}" if status >= 0 else f"was ended by {signal.Signals(-status).name}"
