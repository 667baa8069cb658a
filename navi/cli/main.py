"""The `navi` command: its own sub-commands and those that installed applications bring.

Sub-commands are light modules; what they need is imported when they run, so that `navi --help` loads no model runtime.
"""

import sys
from importlib.metadata import entry_points

import typer
from rich.console import Console
from rich.markup import escape

from navi import __version__
from navi.cli import check, config, features, models, query, rank, serve, token
from navi.core.errors import NaviError

GROUP = "navi.commands"
"""Entry-point group: each entry is a `typer.Typer` or a function, and is added under the entry's name.

An entry `group.name` becomes the sub-command `name` of `navi group`, so that several rooms can fill one group.
"""

_GROUPS = {"bench": "The yardsticks. Each prints a table and writes JSON."}


def build() -> typer.Typer:
    """The command with all its sub-commands."""
    app = typer.Typer(
        name="navi",
        help="Recommendation and ads ranking, served.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        callback=_root,
    )
    for module in (serve, check, query, rank):
        app.command(name=module.__name__.rpartition(".")[2])(module.run)
    app.add_typer(features.app, name="features")
    app.add_typer(models.app, name="models")
    app.add_typer(token.app, name="token")
    app.command(name="config")(config.run)
    groups: dict[str, typer.Typer] = {}
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        group, dot, name = entry.name.rpartition(".")
        if dot and group not in groups:
            groups[group] = typer.Typer(no_args_is_help=True, help=_GROUPS.get(group))
            app.add_typer(groups[group], name=group)
        _add(groups[group] if dot else app, name, entry.load())
    return app


def _add(app: typer.Typer, name: str, found: object) -> None:
    if isinstance(found, typer.Typer):
        app.add_typer(found, name=name)
    elif callable(found):
        app.command(name=name)(found)


def _root(
    version: bool = typer.Option(False, "--version", help="Print the version and stop.", is_eager=True),
) -> None:
    if version:
        print(__version__)  # noqa: T201 - what the option is for
        raise typer.Exit


def main() -> None:
    """Entry point: errors that Navi raises on purpose end the command with one line and status 1."""
    try:
        build()()
    except NaviError as error:
        Console(stderr=True).print(
            f"[bold red]{type(error).__name__}[/]: {escape(str(error))}", highlight=False, soft_wrap=True
        )
        sys.exit(1)
