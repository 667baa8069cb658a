"""A server of a bundle in a process of its own, for as long as it is needed."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from navi.core.errors import SetupError

STARTING_S = 120.0
STOPPING_S = 30.0


@dataclass(frozen=True, slots=True)
class Serving:
    """Where a server listens, and its process id."""

    pid: int
    address: str
    http_address: str

    def cpu_seconds(self) -> float:
        """CPU that the process' threads have used so far (Linux)."""
        tasks = Path(f"/proc/{self.pid}/task").glob("*/schedstat")
        return sum(int(task.read_text(encoding="ascii").split()[0]) for task in tasks) / 1e9


@contextmanager
def serving(bundle: Path, *, keep: bool = False) -> Iterator[Serving]:
    """A server of `bundle` on free ports of the loopback address, while the block runs; for good, with `keep`.

    SetupError where it does not get ready.
    """
    ready_file = bundle.parent / f"ready-{os.getpid()}.json"
    ready_file.unlink(missing_ok=True)
    command = [sys.executable, "-m", "navi.cli", "serve", str(bundle), "--address", "127.0.0.1:0"]
    command += ["--http-address", "127.0.0.1:0", "--ready-file", str(ready_file)]
    process = subprocess.Popen(command, start_new_session=True)
    left_running = False
    try:
        yield _wait_ready(process, ready_file)
        left_running = keep
    finally:
        ready_file.unlink(missing_ok=True)
        if not left_running:
            _stop(process)


def _wait_ready(process: "subprocess.Popen[bytes]", ready_file: Path) -> Serving:
    deadline = time.monotonic() + STARTING_S
    while not ready_file.exists():
        if process.poll() is not None:
            raise SetupError(f"the server ended with status {process.returncode} before it was ready")
        if time.monotonic() > deadline:
            raise SetupError(f"the server was not ready after {STARTING_S:.0f} seconds")
        time.sleep(0.05)
    return Serving(**json.loads(ready_file.read_text(encoding="utf-8")))


def _stop(process: "subprocess.Popen[bytes]") -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=STOPPING_S)
        except subprocess.TimeoutExpired:
            process.kill()
