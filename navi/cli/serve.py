"""`navi serve`: a bundle behind gRPC."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console


def run(
    bundle: Annotated[Path, typer.Argument(help="Bundle directory.", exists=True, file_okay=False)],
    address: Annotated[str | None, typer.Option(envvar="NAVI_ADDRESS", help="host:port of gRPC; port 0: a free one.")] = None,
    http_address: Annotated[
        str | None, typer.Option(envvar="NAVI_HTTP_ADDRESS", help="host:port of metrics and health; empty: off.")
    ] = None,
    max_in_flight: Annotated[
        int | None, typer.Option(envvar="NAVI_MAX_IN_FLIGHT", help="Calls at once; more are refused.")
    ] = None,
) -> None:
    """Serve a bundle's pipelines and feature stores until SIGTERM or SIGINT, then drain and stop."""
    from navi.bundle.bundle import Bundle
    from navi.bundle.config import read_config
    from navi.server.server import Server
    from navi.server.settings import read_settings

    overrides = {"address": address, "http_address": http_address, "max_in_flight": max_in_flight}
    given = {name: value for name, value in overrides.items() if value is not None}
    settings = read_settings({**read_config(bundle).server, **given})
    console = Console(stderr=True)
    with console.status(f"Loading {bundle} ..."):
        opened = Bundle.open(bundle)
    with opened:
        server = Server(settings, opened.pipelines, opened.stores, clock=opened.clock)
        server.serve_forever(on_ready=lambda ports: console.print(_ready(opened.config.name, ports), highlight=False))


def _ready(name: str, ports: object) -> str:
    return f"[bold green]ready[/] bundle {name!r}: {ports}"
