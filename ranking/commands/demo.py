"""`navi demo`: the whole of it, small, in one command."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

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
    from ranking.evaluation.serving import serving

    console = Console()
    bundle = folder / "bundle"
    console.rule("[bold]1. train[/]")
    generated(bundle, items=items, users=users, events=events, overwrite=True)
    console.rule("[bold]2. serve[/]")
    with serving(bundle, keep=keep) as served:
        console.print(f"`navi serve {bundle}` listens on {served.address}", highlight=False)
        console.rule("[bold]3. rank[/]")
        for user in _some_users(bundle):
            _rank(console, served.address, bundle, user)
        console.print(f"Metrics: http://{served.http_address}/metrics", highlight=False)
    if keep:
        console.print(f"The server goes on; end it with `kill {served.pid}`", highlight=False)


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
    from navi.cli.query import about_items, as_view
    from navi.client import Client

    with Client(address, timeout_s=10.0) as client:
        ranking = client.rank(user, k=10)
    console.print(f"[bold]user {user}[/]")
    console.print(as_view(ranking, about_items(ranking, bundle)))
