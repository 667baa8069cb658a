"""Other processes: started and ended, pinned to cores, and their CPU as the kernel counts it."""

import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from navi.core.errors import SetupError

STARTING_S = 120.0
STOPPING_S = 30.0


@dataclass(frozen=True, slots=True)
class Started:
    """A process that is ready, and what it said of itself when it became so."""

    pid: int
    facts: Mapping[str, str]

    def cpu_seconds(self) -> float:
        return cpu_seconds(self.pid)


def cpu_seconds(pid: int) -> float:
    """CPU that the threads of a process have used so far, in nanoseconds (Linux); without threads that have ended."""
    total = 0
    for task in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        with suppress(FileNotFoundError, ProcessLookupError):  # a thread that has just ended
            total += int(task.read_text(encoding="ascii").split()[0])
    return total / 1e9


def cores() -> list[int]:
    """The cores that this process may use."""
    return sorted(os.sched_getaffinity(0))


@contextmanager
def pinned(core: int | None) -> Iterator[None]:
    """This thread, and the threads and processes that it starts meanwhile, on one core; None: on any."""
    before = os.sched_getaffinity(0)
    if core is not None:
        os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextmanager
def running(
    command: Sequence[str], *, core: int | None = None, keep: bool = False, starting_s: float = STARTING_S
) -> Iterator[Started]:
    """A process while the block runs (for good, with `keep`), once it is ready.

    command: takes `--ready-file FILE`, and writes a JSON object of texts there, its `pid` among them, when it is ready.
    core: the only one that it may use. SetupError where it does not get ready; it is ended then, too.
    """
    with tempfile.TemporaryDirectory(prefix="navi-ready-") as directory:
        ready_file = Path(directory) / "ready.json"
        with pinned(core):
            process = subprocess.Popen([*command, "--ready-file", str(ready_file)], start_new_session=True)
        left_running = False
        try:
            yield _wait_ready(process, ready_file, time.monotonic() + starting_s)
            left_running = keep
        finally:
            if not left_running:
                _stop(process)


def _wait_ready(process: "subprocess.Popen[bytes]", ready_file: Path, until: float) -> Started:
    while not ready_file.exists():
        if process.poll() is not None:
            raise SetupError(f"{_name(process)} ended with status {process.returncode} before it was ready")
        if time.monotonic() > until:
            raise SetupError(f"{_name(process)} was not ready in time")
        time.sleep(0.02)
    facts = json.loads(ready_file.read_text(encoding="utf-8"))
    return Started(int(facts.pop("pid")), facts)


def _name(process: "subprocess.Popen[bytes]") -> str:
    assert isinstance(process.args, list)
    return f"the process `{' '.join(map(str, process.args[1:4]))} ...`"


def _stop(process: "subprocess.Popen[bytes]") -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=STOPPING_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
