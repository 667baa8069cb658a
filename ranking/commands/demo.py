"""`navi demo`: the whole of it, small, in one command."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from navi.core.errors import SetupError

STARTING_S = 120.0
USERS_SHOWN = 3


def demo(
    folder: Annotated[Path, typer.Option(help="Where the bundle is made and kept.")] = Path(".demo"),
    items: Annotated[int, typer.Option(min=100, help="Items to generate.")] = 20_000,
    users: Annotated[int, typer.Option(min=10, help="Users to generate.")] = 5_000,
    events: Annotated[int, typer.Option(min=1_000, help="Impressions to generate.")] = 400_000,
    keep: Annotated[bool, typer.Option("--keep", help="Leave the server running.")] = False,
) -> None:
    """Generate data, train, serve over gRPC, rank for a few users, and show what came back."""
    from ranking.commands.train import generated

    console = Console()
    bundle = folder / "bundle"
    console.rule("[bold]1. train[/]")
    generated(bundle, items=items, users=users, events=events, overwrite=True)
    console.rule("[bold]2. serve[/]")
    with serving(bundle, keep=keep) as ready:
        console.print(f"`navi serve {bundle}` listens on {ready['address']}", highlight=False)
        console.rule("[bold]3. rank[/]")
        for user in _some_users(bundle):
            _rank(console, ready["address"], bundle, user)
        console.print(f"Metrics: http://{ready['http_address']}/metrics", highlight=False)
    if keep:
        console.print(f"The server goes on; end it with `kill {ready['pid']}`", highlight=False)


@contextmanager
def serving(bundle: Path, *, keep: bool = False) -> Iterator[dict[str, Any]]:
    """A server of `bundle` in a process of its own on free ports, while the block runs (or for good, with `keep`)."""
    ready_file = bundle.parent / f"ready-{os.getpid()}.json"
    ready_file.unlink(missing_ok=True)
    command = [sys.executable, "-m", "navi.cli", "serve", str(bundle), "--address", "127.0.0.1:0"]
    command += ["--http-address", "127.0.0.1:0", "--ready-file", str(ready_file)]
    process = subprocess.Popen(command, start_new_session=True)
    try:
        yield _wait_ready(process, ready_file)
    except BaseException:
        process.kill()
        raise
    finally:
        ready_file.unlink(missing_ok=True)
        if not keep and process.poll() is None:
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=30)


def _wait_ready(process: "subprocess.Popen[bytes]", ready_file: Path) -> dict[str, Any]:
    deadline = time.monotonic() + STARTING_S
    while not ready_file.exists():
        if process.poll() is not None:
            raise SetupError(f"the server ended with status {process.returncode} before it was ready")
        if time.monotonic() > deadline:
            raise SetupError(f"the server was not ready after {STARTING_S:.0f} seconds")
        time.sleep(0.05)
    return dict(json.loads(ready_file.read_text(encoding="utf-8")))


def _some_users(bundle: Path) -> list[int | str]:
    from itertools import islice

    from navi.bundle.config import read_config
    from navi.features.lmdb_store import LmdbStore

    config = read_config(bundle).features["users"]
    assert config.path is not None
    store = LmdbStore.open(bundle / config.path, config.schema_of_rows(), key=config.key, read_only=True)
    try:
        return [key for key, _ in islice(store.items(), USERS_SHOWN)]
    finally:
        store.close()


def _rank(console: Console, address: str, bundle: Path, user: int | str) -> None:
    from navi.cli.query import as_view, item_columns
    from navi.client import Client

    with Client(address, timeout_s=10.0) as client:
        ranking = client.rank(user=user, k=10)
    console.print(f"[bold]user {user}[/]")
    console.print(as_view(ranking, item_columns(ranking, bundle)))
