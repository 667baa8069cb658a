"""`navi config`: every field of `navi.toml`, with what it means."""

from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from pydantic import BaseModel


def run(
    factory: Annotated[
        str, typer.Option(help="Pipeline factory whose options are shown too, as module:function.")
    ] = "ranking.funnel:build",
    dashboard: Annotated[
        bool, typer.Option("--dashboard", help="Print the Grafana dashboard of a server's metrics instead, as JSON.")
    ] = False,
) -> None:
    """Print the fields that a bundle's navi.toml may have."""
    if dashboard:
        from navi.server.dashboard import dashboard_json

        print(dashboard_json(), end="")  # noqa: T201 - for a file or a pipe
        return
    from navi.bundle.config import BundleConfig
    from navi.bundle.plugins import resolve
    from navi.server.settings import ServerSettings

    console = Console()
    console.print(fields_of("navi.toml", BundleConfig))
    console.print(fields_of("[server]", ServerSettings))
    options = getattr(resolve(factory, field="--factory"), "options_model", None)
    if options is not None:
        console.print(fields_of(f"[pipelines.NAME.options] of {factory}", options))


def fields_of(title: str, model: "type[BaseModel]") -> Table:
    """A configuration model's fields, nested ones included, as a table."""
    table = Table("field", "type", "default", "meaning", title=escape(title), title_justify="left")
    _add(table, "", model)
    return table


def _add(table: Table, prefix: str, model: "type[BaseModel]") -> None:
    from pydantic_core import PydanticUndefined

    for name, info in model.model_fields.items():
        required = info.default is PydanticUndefined and info.default_factory is None
        default = "required" if required else "" if info.default is PydanticUndefined else str(info.default)
        nested = _nested(info.annotation)
        if nested is None:
            table.add_row(prefix + name, _type_name(info.annotation), default, info.description or "")
        else:
            inner, joint = nested
            table.add_row(prefix + name + joint, "", default if required else "", (inner.__doc__ or "").strip())
            _add(table, prefix + name + joint + ".", inner)


def _nested(annotation: Any) -> "tuple[type[BaseModel], str] | None":
    """The configuration model inside a field's type, and what stands between its name and its own fields."""
    from pydantic import BaseModel

    candidates = [annotation, *getattr(annotation, "__args__", ())]
    for found in candidates:
        if isinstance(found, type) and issubclass(found, BaseModel):
            origin = getattr(annotation, "__origin__", None)
            return found, "" if origin is None else "[]" if origin is tuple else ".NAME"
    return None


def _type_name(annotation: Any) -> str:
    return annotation.__name__ if isinstance(annotation, type) else str(annotation).replace("typing.", "")
