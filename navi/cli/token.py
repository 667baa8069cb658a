"""`navi token`: what callers show a server."""

import secrets
import sys
from datetime import UTC, datetime, timedelta
from typing import Annotated

import tomli_w
import typer

app = typer.Typer(no_args_is_help=True, help="Tokens, which callers show a server that asks who they are.")


@app.callback()
def group() -> None:
    """Tokens, which callers show a server that asks who they are."""


@app.command()
def new(
    caller: Annotated[str, typer.Option(help="Name of the caller: a-z, 0-9, _ . -")],
    role: Annotated[list[str] | None, typer.Option(help="call, features, admin or observe; may be repeated.")] = None,
    days: Annotated[float | None, typer.Option(min=0, help="Days that the token holds; left out: always.")] = None,
) -> None:
    """Make a token, printed on standard output this once; its entry for the server's `tokens_file` on standard error.

    The entry holds only the token's digest: `navi token new --caller feed 2>> tokens.toml` adds it to the file.
    """
    from navi.bundle.config import validated
    from navi.server.security.callers import digest_of
    from navi.server.security.callers_file import CallersFile

    token = f"navi_{secrets.token_urlsafe(32)}"
    entry: dict[str, object] = {"name": caller, "roles": role or ["call"], "token": digest_of(token)}
    if days is not None:
        entry["expires"] = (datetime.now(UTC) + timedelta(days=days)).replace(microsecond=0)
    validated(CallersFile, {"caller": [entry]}, field="")
    print(tomli_w.dumps({"caller": [entry]}), file=sys.stderr)  # noqa: T201 - as it stands in the file
    print(token)  # noqa: T201 - for other programs
