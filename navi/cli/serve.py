"""`navi serve`: a bundle behind gRPC."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from navi.core.files import replacing

if TYPE_CHECKING:
    from navi.server.server import Ports
    from navi.server.settings import ServerSettings


def run(
    bundle: Annotated[Path, typer.Argument(help="Bundle directory.", exists=True, file_okay=False)],
    address: Annotated[
        str | None, typer.Option(envvar="NAVI_ADDRESS", help="host:port of gRPC; port 0: a free one.")
    ] = None,
    http_address: Annotated[
        str | None, typer.Option(envvar="NAVI_HTTP_ADDRESS", help="host:port of metrics and health; empty: off.")
    ] = None,
    max_in_flight: Annotated[
        int | None, typer.Option(envvar="NAVI_MAX_IN_FLIGHT", help="Calls at once; more are refused.")
    ] = None,
    ready_file: Annotated[
        Path | None, typer.Option(help="JSON file written when ready: the process id and the addresses bound.")
    ] = None,
) -> None:
    """Serve a bundle's pipelines and feature stores until SIGTERM or SIGINT, then drain and stop."""
    from navi.bundle.bundle import Bundle
    from navi.bundle.config import read_config, validated
    from navi.server.bundle_collector import BundleCollector
    from navi.server.serve import serve
    from navi.server.server import Server
    from navi.server.settings import ServerSettings

    overrides = {"address": address, "http_address": http_address, "max_in_flight": max_in_flight}
    given = {name: value for name, value in overrides.items() if value is not None}
    settings = validated(ServerSettings, {**read_config(bundle).server, **given}, field="server")
    console = Console(stderr=True)
    with console.status(f"Loading {bundle} ..."):
        opened = Bundle.open(bundle)
    with opened:
        server = Server(settings, opened.pipelines, opened.stores, clock=opened.clock)
        server.registry.register(BundleCollector(opened))

        def ready(ports: "Ports") -> None:
            bound = _bound(settings, ports)
            console.print(_message(opened.config.name, bound), highlight=False, soft_wrap=True)
            if ready_file is not None:
                with replacing(ready_file) as temporary:
                    temporary.write_text(json.dumps({"pid": os.getpid(), **bound}), encoding="utf-8")

        serve(server, ready)
    console.print("drained and stopped")


def _bound(settings: "ServerSettings", ports: "Ports") -> dict[str, str]:
    """The addresses that a client can use; empty for an HTTP port that is off."""
    http = "" if ports.http is None else f"{settings.http_address.rpartition(':')[0]}:{ports.http}"
    return {"address": f"{settings.address.rpartition(':')[0]}:{ports.grpc}", "http_address": http}


def _message(name: str, bound: dict[str, str]) -> str:
    http = f"metrics and health on http://{bound['http_address']}/" if bound["http_address"] else "no HTTP port"
    return f"[bold green]ready[/] {name}: gRPC on {bound['address']}, {http}"
