"""A bundle trained once on a small generated data set, and real servers of it in processes of their own."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from navi.client import Client

STARTING_S = 90.0
OPTIONS = """
history = 20
sample_rows = 300
tower = { epochs = 1, distil_requests = 500 }
funnel = { keep = 100, approximate = true }
"""


@dataclass(frozen=True)
class Served:
    """A running `navi serve`."""

    process: "subprocess.Popen[bytes]"
    address: str
    http_address: str

    def client(self, timeout_s: float = 20.0) -> Client:
        return Client(self.address, timeout_s=timeout_s)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(timeout=30)

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=30)


def navi(*words: object, check: bool = True) -> "subprocess.CompletedProcess[str]":
    """Run the `navi` command to its end."""
    command = [sys.executable, "-m", "navi.cli", *map(str, words)]
    environment = {**os.environ, "COLUMNS": "200"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment, check=False)
    assert not check or done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.fixture(scope="session", name="navi")
def run_navi() -> Callable[..., "subprocess.CompletedProcess[str]"]:
    return navi


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Read-only: copy it (`bundle`) to change it."""
    out = tmp_path_factory.mktemp("trained") / "bundle"
    options = out.with_name("options.toml")
    options.write_text(OPTIONS)
    navi("train", "generated", out, "--items", 800, "--users", 300, "--events", 20_000, "--options", options)
    with (out / "navi.toml").open("a") as config:  # a server stops as soon as its clients' connections are so old
        config.write("\n[server]\nmax_connection_age_s = 1.0\n")
    return out


@pytest.fixture
def bundle(trained: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(trained, tmp_path / "bundle"))


@pytest.fixture(scope="session")
def serve(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Served]]:
    """Start servers; those still running at the end are killed by their own process id."""
    started: list[Served] = []

    def start(bundle: Path, *words: object) -> Served:
        ready = tmp_path_factory.mktemp("ready") / "ready.json"
        command = [sys.executable, "-m", "navi.cli", "serve", str(bundle), "--ready-file", str(ready)]
        command += ["--address", "127.0.0.1:0", "--http-address", "127.0.0.1:0", *map(str, words)]
        process = subprocess.Popen(command, stderr=subprocess.PIPE)
        deadline = time.monotonic() + STARTING_S
        while not ready.exists():
            assert process.poll() is None, process.stderr.read().decode()
            assert time.monotonic() < deadline, "not ready in time"
            time.sleep(0.05)
        bound = json.loads(ready.read_text())
        served = Served(process, bound["address"], bound["http_address"])
        started.append(served)
        return served

    yield start
    for served in started:
        if served.process.poll() is None:
            served.kill()
        served.process.stderr.close()


@pytest.fixture(scope="session")
def server(trained: Path, serve: Callable[..., Served]) -> Served:
    """One server of the trained bundle for all tests that change nothing in it."""
    return serve(trained)
