"""`navi query`: one request to a running server, and its answer as a table."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich.console import Console, Group
from rich.markup import escape
from rich.table import Table

from navi.cli.arguments import features_of, key_of, keys_of, time_of
from navi.cli.connection import Ca, Certificate, Key, Tls, Token, credentials_of
from navi.cli.explain_view import explanation_dict, explanation_tables

if TYPE_CHECKING:
    from navi.core.ranking import Ranking
    from navi.features.item_table import ItemTable


def run(
    target: Annotated[str, typer.Option(help="host:port of the server.")] = "127.0.0.1:50051",
    pipeline: Annotated[str, typer.Option(help="Pipeline; may be left out where the server has one.")] = "",
    user: Annotated[str | None, typer.Option(help="User key; left out: anonymous.")] = None,
    k: Annotated[int, typer.Option("--k", "-k", help="How many.")] = 10,
    feature: Annotated[list[str] | None, typer.Option("--feature", "-f", help="Request feature, name=value.")] = None,
    exclude: Annotated[str, typer.Option(help="Item ids to leave out, comma-separated.")] = "",
    candidates: Annotated[str, typer.Option(help="Item ids to consider beside those found, comma-separated.")] = "",
    as_of: Annotated[str | None, typer.Option(help="Seconds since the epoch, or ISO 8601.")] = None,
    seed: Annotated[int | None, typer.Option(help="What random choices are drawn from.")] = None,
    timeout: Annotated[float, typer.Option(help="Seconds.")] = 5.0,
    show: Annotated[Path | None, typer.Option(help="Bundle whose item columns are shown beside the ids.")] = None,
    explain: Annotated[bool, typer.Option(help="Tell what became of every candidate.")] = False,
    explain_rows: Annotated[int, typer.Option(min=0, help="Candidates to show of an explanation.")] = 50,
    as_json: Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")] = False,
    token: Token = "",
    ca: Ca = None,
    certificate: Certificate = None,
    key: Key = None,
    tls: Tls = False,
) -> None:
    """Ask a running server for the best k for a user."""
    from navi.client import Client
    from navi.client.options import RankOptions

    options: RankOptions = {
        "pipeline": pipeline,
        "features": features_of(feature or []),
        "exclude": keys_of(exclude),
        "candidates": keys_of(candidates),
        "explain": explain,
    }
    moment = time_of(as_of)
    if moment is not None:
        options["as_of"] = moment
    if seed is not None:
        options["seed"] = seed
    shown = credentials_of(token, ca=ca, certificate=certificate, key=key, tls=tls)
    with Client(target, timeout_s=timeout, credentials=shown) as client:
        ranking = client.rank(None if user is None else key_of(user), k=k, **options)
    if as_json:
        print(json.dumps(as_dict(ranking), indent=2, ensure_ascii=False))  # noqa: T201 - for other programs
    else:
        Console().print(as_view(ranking, about_items(ranking, show), explain_rows=explain_rows))


def as_dict(ranking: "Ranking") -> dict[str, Any]:
    """A ranking in JSON's types; scores that are not finite become null."""
    explained = ranking.explanation
    return {
        "items": [
            {"id": key, "score": score, "sources": sources, **{name: tasks[name][at] for name in tasks}}
            for tasks in [{name: _numbers(values) for name, values in ranking.tasks.items()}]
            for at, (key, score, sources) in enumerate(
                zip(ranking.ids.tolist(), _numbers(ranking.scores), ranking.sources_of(), strict=True)
            )
        ],
        "stages": [
            {
                "name": s.name,
                "in": s.rows_in,
                "out": s.rows_out,
                "start_us": s.offset,
                "us": s.microseconds,
                "degraded": s.degraded,
                "dropped": dict(s.dropped),
            }
            for s in ranking.stages
        ],
        "degradations": [
            {"stage": d.stage, "reason": d.reason, "detail": d.detail, "rows": d.rows} for d in ranking.degradations
        ],
        "shortfall": dict(ranking.shortfall),
        "models": dict(ranking.models),
        "as_of": ranking.as_of,
        "seed": ranking.seed,
        **({} if explained is None else {"explanation": explanation_dict(ranking, explained)}),
    }


def as_view(ranking: "Ranking", about: list[str], *, explain_rows: int = 0) -> Group:
    """A ranking as tables for a person. about: what to say of each item; empty: nothing. explain_rows: how many
    candidates to show where the ranking is explained."""
    parts: list[Any] = [_items(ranking), *_about_table(ranking, about), _stages(ranking)]
    parts += [f"[yellow]degraded[/] {d.stage}: {d.reason} ({escape(d.detail)})" for d in ranking.degradations]
    if ranking.shortfall:
        lost = ", ".join(f"{reason} {count:,}" for reason, count in ranking.shortfall.items())
        parts.append(f"[yellow]fewer than k[/]: {lost}")
    parts.append("models: " + (", ".join(f"{name} {version}" for name, version in ranking.models.items()) or "none"))
    if ranking.explanation is not None:
        parts += explanation_tables(ranking, ranking.explanation, rows=explain_rows)
    return Group(*parts)


def about_items(ranking: "Ranking", bundle: Path | None) -> list[str]:
    """What the bundle's first table with ids of their kind says of the items, a line each."""
    if bundle is None:
        return []
    from navi.bundle.config import read_config
    from navi.features.item_table import ItemTable

    for entry in read_config(bundle).tables.values():
        table = ItemTable.open(bundle / entry.path)
        if table.ids.is_text == ranking.ids.is_text:
            names = [name for name in table.columns if name != table.key]
            return [_about(table, names, row) for row in table.lookup(ranking.ids).tolist()]
    return []


def _about(table: "ItemTable", names: list[str], row: int) -> str:
    if row < 0:
        return ""
    values = {name: table.column(name).row(row) for name in names}
    return "  ".join(f"[dim]{name}[/] {escape(_cell(cell))}" for name, cell in values.items() if cell is not None)


def _items(ranking: "Ranking") -> Table:
    table = Table("#", "id", "score", *ranking.tasks, "sources")
    sources = ranking.sources_of()
    for at, key in enumerate(ranking.ids.tolist()):
        tasks = [f"{values[at]:.4f}" for values in ranking.tasks.values()]
        table.add_row(str(at + 1), escape(str(key)), f"{ranking.scores[at]:.4f}", *tasks, ", ".join(sources[at]))
    return table


def _about_table(ranking: "Ranking", about: list[str]) -> list[Table]:
    if not about:
        return []
    table = Table("id", "what the item table says of it")
    for key, line in zip(ranking.ids.tolist(), about, strict=True):
        table.add_row(escape(str(key)), line)
    return [table]


def _stages(ranking: "Ranking") -> Table:
    table = Table("stage", "start ms", "ms", "in", "out", "dropped")
    for stage in ranking.stages:
        dropped = ", ".join(f"{reason} {count:,}" for reason, count in stage.dropped.items())
        name = f"[yellow]{stage.name}[/]" if stage.degraded else stage.name
        times = f"{stage.offset / 1000:.2f}", f"{stage.microseconds / 1000:.2f}"
        table.add_row(name, *times, f"{stage.rows_in:,}", f"{stage.rows_out:,}", dropped)
    return table


def _cell(values: Any) -> str:
    return ", ".join(f"{value:.4g}" if isinstance(value, float | np.floating) else str(value) for value in values)


def _numbers(values: Any) -> list[float | None]:
    return [float(value) if np.isfinite(value) else None for value in values]
