"""`navi serve`: a bundle behind gRPC."""

import json
import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from navi.core.files import replacing

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from navi.bundle.config import BundleConfig
    from navi.server.ports import Ports
    from navi.server.settings import ServerSettings

    Ready: TypeAlias = Callable[[Ports], None]

_LOG = logging.getLogger(__name__)


def run(
    bundle: Annotated[Path, typer.Argument(help="Bundle directory.", exists=True, file_okay=False)],
    address: Annotated[
        str | None, typer.Option(envvar="NAVI_ADDRESS", help="host:port of gRPC; port 0: a free one.")
    ] = None,
    http_address: Annotated[
        str | None, typer.Option(envvar="NAVI_HTTP_ADDRESS", help="host:port of metrics and health; empty: off.")
    ] = None,
    max_in_flight: Annotated[
        int | None, typer.Option(envvar="NAVI_MAX_IN_FLIGHT", help="Calls at once in a process; more are refused.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(envvar="NAVI_WORKERS", help="Processes that serve behind the one gRPC port.")
    ] = None,
    log_format: Annotated[
        str | None, typer.Option(envvar="NAVI_LOG_FORMAT", help="Log on standard error: text, or json (a line each).")
    ] = None,
    tls_certificate: Annotated[
        str | None, typer.Option(envvar="NAVI_TLS_CERTIFICATE", help="PEM file of gRPC's certificate; with --tls-key.")
    ] = None,
    tls_key: Annotated[str | None, typer.Option(envvar="NAVI_TLS_KEY", help="PEM file of its key.")] = None,
    tls_client_ca: Annotated[
        str | None, typer.Option(envvar="NAVI_TLS_CLIENT_CA", help="PEM file: clients need a certificate of these.")
    ] = None,
    tokens_file: Annotated[
        str | None, typer.Option(envvar="NAVI_TOKENS_FILE", help="TOML file of callers, their tokens and roles.")
    ] = None,
    ready_file: Annotated[
        Path | None, typer.Option(help="JSON file written when ready: the process id and the addresses bound.")
    ] = None,
) -> None:
    """Serve a bundle's pipelines and feature stores until SIGTERM or SIGINT, then drain and stop."""
    from navi.bundle.config import read_config, validated
    from navi.server.logs import logging_to_stderr
    from navi.server.settings import ServerSettings

    overrides = {
        "address": address,
        "http_address": http_address,
        "max_in_flight": max_in_flight,
        "workers": workers,
        "log_format": log_format,
        "tls_certificate": tls_certificate,
        "tls_key": tls_key,
        "tls_client_ca": tls_client_ca,
        "tokens_file": tokens_file,
    }
    given = {name: value for name, value in overrides.items() if value is not None}
    config = read_config(bundle)
    settings = validated(ServerSettings, {**config.server, **given}, field="server")
    for_machines = settings.log_format == "json"
    console = Console(stderr=True, quiet=for_machines)

    serve = _serve_many if settings.workers > 1 else _serve_one
    with logging_to_stderr(settings.log_format), console.status(f"Loading {bundle} ...") as loading:

        def ready(ports: "Ports") -> None:
            loading.stop()
            bound = _bound(settings, ports)
            console.print(_message(config.name, bound, settings.workers), highlight=False, soft_wrap=True)
            if for_machines:
                _LOG.info("ready: gRPC on %s, HTTP on %s", bound["address"], bound["http_address"] or "no port")
            if ready_file is not None:
                with replacing(ready_file) as temporary:
                    temporary.write_text(json.dumps({"pid": os.getpid(), **bound}), encoding="utf-8")

        serve(bundle, config, settings, ready)
        if for_machines:
            _LOG.info("drained and stopped")
    console.print("drained and stopped")


def _serve_one(bundle: Path, _config: "BundleConfig", settings: "ServerSettings", ready: "Ready") -> None:
    from navi.server.bundle_server import bundle_server
    from navi.server.serve import serve

    with bundle_server(bundle, settings) as server:
        serve(server, ready)


def _serve_many(bundle: Path, config: "BundleConfig", settings: "ServerSettings", ready: "Ready") -> None:
    from navi.server.supervisor import supervise

    supervise(bundle, config, settings, ready)


def _bound(settings: "ServerSettings", ports: "Ports") -> dict[str, str]:
    """The addresses that a client can use; empty for an HTTP port that is off."""
    http = "" if ports.http is None else f"{settings.http_address.rpartition(':')[0]}:{ports.http}"
    return {"address": f"{settings.address.rpartition(':')[0]}:{ports.grpc}", "http_address": http}


def _message(name: str, bound: dict[str, str], workers: int) -> str:
    http = f"metrics and health on http://{bound['http_address']}/" if bound["http_address"] else "no HTTP port"
    several = f", {workers} workers" if workers > 1 else ""
    return f"[bold green]ready[/] {name}: gRPC on {bound['address']}, {http}{several}"
