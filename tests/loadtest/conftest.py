"""Stub servers in processes of their own, short runs against them, and the `navi loadtest` command."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

from loadtest.commands.loadtest import app
from loadtest.plan import Plan
from loadtest.progress import Watch
from loadtest.result import Result
from loadtest.run import run
from loadtest.schedule import schedule
from loadtest.stub.navi_stub import StubSettings, running_stub
from loadtest.target import Target
from loadtest.targets.navi_rank import NaviRank
from navi.core.errors import NaviError


def run_at(
    address: str,
    *,
    rate: float = 40.0,
    seconds: float = 1.0,
    target: Target | None = None,
    watch: Watch | None = None,
    **plan,
) -> Result:
    """An open loop of evenly spaced calls, or what the plan says."""
    due = schedule("constant", rate=rate, seconds=seconds, generator=np.random.default_rng(0))
    plain = {"due": np.empty(0) if plan.get("closed") else due, "connections": 4, "timeout_s": 5.0}
    return run(Plan(address=address, seconds=seconds, **{**plain, **plan}), target or NaviRank(), watch=watch)


def loadtest(*words: object) -> SimpleNamespace:
    """Run `navi loadtest` in this process: its status, what it printed, and the error that ends it with one line."""
    done = CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "200"})
    failed = done.exception if isinstance(done.exception, NaviError) else None
    assert failed or done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return SimpleNamespace(returncode=done.exit_code, stdout=done.stdout, error=str(failed or ""))


def loadtest_process(*words: object, environment: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    """Run `navi loadtest` to its end, as a command of its own."""
    command = [sys.executable, "-m", "navi.cli", "loadtest", *map(str, words)]
    variables = {**os.environ, **environment}
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env=variables, check=False)


@pytest.fixture(scope="session")
def stub() -> Iterator[str]:
    """The address of a stub that answers after 5 ms."""
    with running_stub(StubSettings()) as address:
        yield address


@pytest.fixture
def own_server() -> Iterator[SimpleNamespace]:
    """`navi loadtest stub` as a command: its address and process id."""
    command = [sys.executable, "-m", "navi.cli", "loadtest", "stub", "--address", "127.0.0.1:0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    yield SimpleNamespace(address=process.stdout.readline().split()[-1], pid=process.pid)
    process.terminate()
    process.wait()
    process.stdout.close()


@pytest.fixture(scope="session")
def lt() -> SimpleNamespace:
    return SimpleNamespace(run=run_at, command=loadtest, process=loadtest_process, stub=stub_of)


@contextmanager
def stub_of(**settings) -> Iterator[str]:
    with running_stub(StubSettings(**settings)) as address:
        yield address
