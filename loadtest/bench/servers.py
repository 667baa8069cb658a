"""Servers under measurement, each in a process of its own on one core."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import tomli_w

from navi.bench.processes import Started, running


@contextmanager
def navi_server(bundle: Path, core: int, options: Sequence[str] = ()) -> Iterator[Started]:
    """`navi serve` of a bundle; its facts hold the `address`. options: further words of the command line."""
    command = [sys.executable, "-m", "navi.cli", "serve", str(bundle), "--address", "127.0.0.1:0"]
    with running([*command, "--http-address", "", *options], core=core) as server:
        yield server


@contextmanager
def empty_server(reply: Path, core: int) -> Iterator[Started]:
    """A grpc.aio server whose handler does nothing but answer the bytes in the file `reply`."""
    with running([sys.executable, "-m", "loadtest.bench.empty_handler", "--reply", str(reply)], core=core) as server:
        yield server


def write_empty_bundle(directory: Path) -> Path:
    """A bundle whose one pipeline answers nothing."""
    directory.mkdir(parents=True, exist_ok=True)
    config = {"name": "empty", "pipelines": {"empty": {"factory": "navi.bench.empty:build"}}}
    (directory / "navi.toml").write_text(tomli_w.dumps(config), encoding="utf-8")
    return directory
