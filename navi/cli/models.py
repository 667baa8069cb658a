"""`navi models`: see and change what a running server serves."""

import inspect
import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from navi.cli.connection import Ca, Certificate, Key, Tls, Token, credentials_of
from navi.core.errors import InvalidArgument

if TYPE_CHECKING:
    from navi.client.admin import Models
    from navi.core.model_state import ModelInfo, ShadowInfo

app = typer.Typer(no_args_is_help=True, help="See and change which versions of models a running server serves.")

Target = Annotated[str, typer.Option(envvar="NAVI_ADDRESS", help="host:port of the server.")]
Timeout = Annotated[float, typer.Option(help="Seconds that it may take.")]
Model = Annotated[str, typer.Argument(help="Name of the model.")]
Version = Annotated[int, typer.Argument(min=1, help="Number of the version.")]


def _ask(
    ask: "Callable[[Models], list[ModelInfo]]",
    *,
    target: Target = "127.0.0.1:50051",
    timeout: Timeout = 120.0,
    token: Token = "",
    ca: Ca = None,
    certificate: Certificate = None,
    key: Key = None,
    tls: Tls = False,
) -> None:
    """Ask a server, and print the models that it tells of."""
    from navi.client import Client

    shown = credentials_of(token, ca=ca, certificate=certificate, key=key, tls=tls)
    with Client(target, credentials=shown) as client:
        _print(ask(replace(client.models, timeout_s=timeout)))


def _command(name: str) -> "Callable[[Callable[..., Callable[[Models], list[ModelInfo]]]], None]":
    """Adds a command with the options of its function, which says what to ask, and those of `_ask`."""

    def add(asking: "Callable[..., Callable[[Models], list[ModelInfo]]]") -> None:
        own = inspect.signature(asking).parameters
        shared = {each: found for each, found in inspect.signature(_ask).parameters.items() if each != "ask"}

        def run(**options: Any) -> None:
            _ask(asking(**{each: options[each] for each in own}), **{each: options[each] for each in shared})

        parameters = {**own, **shared}
        run.__doc__ = asking.__doc__
        run.__annotations__ = {each: found.annotation for each, found in parameters.items()}
        keyword_only = [found.replace(kind=found.KEYWORD_ONLY) for found in parameters.values()]
        run.__signature__ = inspect.Signature(keyword_only)  # type: ignore[attr-defined]  # what typer reads
        app.command(name)(run)

    return add


@_command("list")
def _(
    model: Annotated[str, typer.Argument(help="Name of one model; all where left out.")] = "",
) -> "Callable[[Models], list[ModelInfo]]":
    """All versions, with what they do in the process that answers."""
    return lambda models: models.list(model)


@_command("load")
def _(
    model: Model,
    version: Annotated[
        int,
        typer.Argument(
            min=0, help="Number of the version; 0 or left out: the newest (from now on, if the server polls)."
        ),
    ] = 0,
    aside: Annotated[bool, typer.Option(help="Keep it loaded, without traffic.")] = False,
) -> "Callable[[Models], list[ModelInfo]]":
    """Load a version and let it serve; what does not load or fit changes nothing."""
    return lambda models: [models.load(model, version, aside=aside)]


@_command("unload")
def _(model: Model, version: Version) -> "Callable[[Models], list[ModelInfo]]":
    """Let go of a version that has no traffic, and of its labels."""
    return lambda models: [models.unload(model, version)]


@_command("label")
def _(
    model: Model,
    name: Annotated[str, typer.Argument(help="The label; `stable` is that of what serves.")],
    version: Annotated[int, typer.Argument(min=0, help="Number of the version; 0: take the label away.")],
) -> "Callable[[Models], list[ModelInfo]]":
    """Give a label to a version, which is loaded for it."""
    return lambda models: [models.set_label(model, name, version)]


@_command("split")
def _(
    model: Model,
    shares: Annotated[
        list[str] | None, typer.Argument(help="LABEL=SHARE, as canary=0.1; none: all traffic to what serves.")
    ] = None,
) -> "Callable[[Models], list[ModelInfo]]":
    """Send shares of the users (of the requests without one) to labelled versions; the same ones always."""
    wanted = dict(_share(word) for word in shares or [])
    return lambda models: [models.set_split(model, wanted)]


@_command("shadow")
def _(
    model: Model,
    version: Annotated[int, typer.Argument(min=0, help="Number of the version; 0: none.")],
    share: Annotated[float, typer.Option(min=0.0, max=1.0, help="Share of the requests.")] = 0.01,
) -> "Callable[[Models], list[ModelInfo]]":
    """Let a version answer requests once more, after the reply; `list` tells how its scores differ."""
    return lambda models: [models.set_shadow(model, version, share)]


@_command("rollback")
def _(model: Model) -> "Callable[[Models], list[ModelInfo]]":
    """Let the version serve again that served before, which is still loaded."""
    return lambda models: [models.roll_back(model)]


def _share(word: str) -> tuple[str, float]:
    name, equals, number = word.partition("=")
    try:
        return name, float(number)
    except ValueError:
        problem = f"{number!r} is no number" if equals else f"{word!r} is not of the form LABEL=SHARE"
        raise InvalidArgument("shares", problem) from None


def _print(models: "list[ModelInfo]") -> None:
    table = Table("model", "version", "status", "labels", "traffic", "in flight", "digest", "reason")
    for model in models:
        for version in model.versions:
            table.add_row(
                model.name,
                str(version.version),
                version.status,
                ", ".join(version.labels),
                f"{version.share:.3g}" if version.share else "",
                str(version.in_flight) if version.in_flight else "",
                version.digest[:12],
                escape(version.reason),
            )
    console = Console()
    console.print(table)
    for model in models:
        if model.shadow is not None:
            console.print(_told(model.name, model.shadow), highlight=False)


def _told(name: str, shadow: "ShadowInfo") -> str:
    correlation = "unknown" if math.isnan(shadow.rank_correlation) else f"{shadow.rank_correlation:.4f}"
    found = (
        f"mean |difference| {shadow.mean_difference:.3g}, largest {shadow.largest_difference:.3g}, "
        f"rank correlation {correlation}"
    )
    done = f"{shadow.compared:,} answers compared, {shadow.failed:,} failed"
    return f"shadow of {name}: version {shadow.version}, {shadow.share:.3g} of the requests; {done}; {found}"
