"""One of several processes that serve a bundle behind one port: `python -m navi.server.worker CHANNEL JOB`.

CHANNEL is the number of a socket that this process got from its supervisor. Over it the worker says when it is ready,
or why it cannot be; when the other end closes, the supervisor is gone, and the worker drains and ends.
"""

import os
import shutil
import signal
import socket
import sys
from contextlib import suppress
from threading import Thread

from prometheus_client import values

from navi.core.errors import NaviError
from navi.server.bundle_server import bundle_server
from navi.server.facts import ServerFacts
from navi.server.logs import logging_to_stderr
from navi.server.ports import Ports
from navi.server.serve import serve
from navi.server.server import Server
from navi.server.settings import ServerSettings
from navi.server.worker_messages import METRICS_DIRECTORY, Job, failed_line, ready_line

_SAMPLE_S = 1.0


def main() -> None:
    """Serve until a signal, or until the supervisor is gone."""
    channel, job = socket.socket(fileno=int(sys.argv[1])), Job.of_line(sys.argv[2])
    supervised = Supervised(channel)
    supervised.start()
    try:
        _serve(job, supervised)
    except NaviError as error:
        supervised.tell(failed_line(error))
        sys.exit(1)
    finally:
        if supervised.orphaned:  # nobody else is left to do it
            shutil.rmtree(os.environ[METRICS_DIRECTORY], ignore_errors=True)


def _serve(job: Job, supervised: "Supervised") -> None:
    # Metrics by slot and not by process: who takes the slot of one that died goes on counting where it stopped.
    values.ValueClass = values.MultiProcessValue(lambda: job.slot)  # type: ignore[no-untyped-call]
    settings = ServerSettings.model_validate(job.settings)
    with (
        logging_to_stderr(settings.log_format),
        bundle_server(job.path, settings, slot=job.slot) as server,
    ):

        def ready(_ports: Ports) -> None:
            supervised.serves(server)

        serve(server, ready)
        server.metrics.sample()


class Supervised:
    """This process' end of its supervisor's channel, watched by a thread, which also samples metrics once a second."""

    def __init__(self, channel: socket.socket) -> None:
        self.orphaned = False
        self._server: Server | None = None
        self._told: ServerFacts | None = None
        self._channel = channel
        self._channel.settimeout(_SAMPLE_S)

    def start(self) -> None:
        Thread(target=self._watch, name="navi-supervised", daemon=True).start()

    def serves(self, server: Server) -> None:
        """The server takes calls: from now on it is told of, and its metrics are sampled."""
        self._told = server.facts
        self.tell(ready_line(self._told))
        self._server = server

    def tell(self, line: bytes) -> None:
        with suppress(OSError):  # the supervisor is gone, which the thread sees, too
            self._channel.sendall(line)

    def _watch(self) -> None:
        while not self._closed():
            if self._server is not None:
                self._server.metrics.sample()
                self._tell_news(self._server.facts)
        self.orphaned = True
        os.kill(os.getpid(), signal.SIGTERM)

    def _tell_news(self, facts: ServerFacts) -> None:
        if facts is not self._told:  # another version of a model serves
            self._told = facts
            with suppress(OSError):  # the supervisor is gone, as the next look will tell
                self.tell(ready_line(facts))

    def _closed(self) -> bool:
        try:
            return not self._channel.recv(1)
        except TimeoutError:
            return False
        except OSError:
            return True


if __name__ == "__main__":
    main()
