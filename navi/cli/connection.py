"""The options by which a command shows a server who calls, and knows the server."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from navi.client.credentials import Credentials

Token = Annotated[
    str, typer.Option(envvar="NAVI_TOKEN", show_envvar=True, help="Token; better in the environment than here.")
]
Ca = Annotated[
    Path | None, typer.Option(envvar="NAVI_CA", help="PEM file of the authorities of the server's certificate.")
]
Certificate = Annotated[
    Path | None, typer.Option(envvar="NAVI_CERTIFICATE", help="PEM file of the client's own certificate.")
]
Key = Annotated[Path | None, typer.Option(envvar="NAVI_KEY", help="PEM file of that certificate's key.")]
Tls = Annotated[
    bool, typer.Option("--tls", envvar="NAVI_TLS", help="Encrypt even without --ca: a well-known authority's server.")
]


def credentials_of(
    token: str, *, ca: Path | None, certificate: Path | None, key: Path | None, tls: bool
) -> "Credentials":
    from navi.client.credentials import Credentials

    return Credentials(token=token, ca=ca, certificate=certificate, key=key, tls=tls)
