"""`navi check`: would this bundle serve?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from navi.bundle.bundle import Bundle

PROBE_K = 10


def run(bundle: Annotated[Path, typer.Argument(help="Bundle directory.", exists=True, file_okay=False)]) -> None:
    """Load and verify everything in a bundle, rank one synthetic request with each pipeline, and stop."""
    from navi.bundle.bundle import Bundle
    from navi.bundle.config import read_config, validated
    from navi.server.settings import ServerSettings

    validated(ServerSettings, read_config(bundle).server, field="server")
    console = Console()
    with Bundle.open(bundle, verify=True) as opened:
        console.print(_contents(opened))
        console.print(_probes(opened))
    console.print(f"[bold green]ok[/] {bundle}", highlight=False)


def _contents(bundle: "Bundle") -> Table:
    table = Table("part", "name", "holds", title=f"bundle {bundle.config.name}", title_justify="left")
    for name, items in bundle.tables.items():
        table.add_row("table", name, f"{len(items):,} items, {len(items.columns)} columns")
    for name, store in bundle.stores.items():
        table.add_row("features", name, f"{store.count():,} rows, {len(store.schema.fields)} features")
    for name, scorer in bundle.scorers.items():
        alone = "" if scorer.row_independent else "; rows depend on each other: one request a batch"
        table.add_row("model", name, f"version {scorer.version} on {scorer.provider}{alone}")
    for name, plain in bundle.plain.items():
        table.add_row("plain model", name, f"version {plain.version} on {plain.model.provider}")
    for name, vectors in bundle.item_vectors.items():
        table.add_row("vectors", name, "{:,} x {}".format(*vectors.matrix.shape))
    return table


def _probes(bundle: "Bundle") -> Table:
    from navi.core.deadline import Deadline
    from navi.core.errors import NaviError
    from navi.core.query import Query

    table = Table(
        "pipeline", "answered", "milliseconds", "degraded", title="one anonymous request", title_justify="left"
    )
    for name, pipeline in bundle.pipelines.items():
        query = Query(
            pipeline=name, user=None, k=PROBE_K, deadline=Deadline.never(bundle.clock), as_of=bundle.clock.time()
        )
        (answer,) = pipeline.rank_many([query])
        if isinstance(answer, NaviError):
            raise answer
        millis = sum(stage.microseconds for stage in answer.stages) / 1000
        degraded = escape(", ".join(f"{entry.stage}: {entry.detail}" for entry in answer.degradations)) or "no"
        table.add_row(name, f"{len(answer.ids)} of {PROBE_K}", f"{millis:.1f}", degraded)
    return table
