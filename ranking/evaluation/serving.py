"""A server of a bundle in a process of its own, for as long as it is needed."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from navi.bench.processes import cpu_seconds, running


@dataclass(frozen=True, slots=True)
class Serving:
    """Where a server listens, and its process id."""

    pid: int
    address: str
    http_address: str

    def cpu_seconds(self) -> float:
        """CPU that the process' threads have used so far (Linux)."""
        return cpu_seconds(self.pid)


@contextmanager
def serving(bundle: Path, *, keep: bool = False, core: int | None = None) -> Iterator[Serving]:
    """A server of `bundle` on free ports of the loopback address, while the block runs; for good, with `keep`.

    core: the only one that it may use. SetupError where it does not get ready.
    """
    command = [sys.executable, "-m", "navi.cli", "serve", str(bundle), "--address", "127.0.0.1:0"]
    command += ["--http-address", "127.0.0.1:0"]
    with running(command, keep=keep, core=core) as server:
        yield Serving(server.pid, **server.facts)
