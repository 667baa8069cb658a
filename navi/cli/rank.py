"""`navi rank`: the same pipelines, offline."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from navi.cli.arguments import time_of


def run(
    bundle: Annotated[Path, typer.Argument(help="Bundle directory.", exists=True, file_okay=False)],
    requests: Annotated[
        Path,
        typer.Option(
            help="Parquet: user, and optionally pipeline, k, as_of, ...; other columns are features.", exists=True
        ),
    ],
    out: Annotated[Path, typer.Option(help="Parquet file of the answers, a row a request.")],
    pipeline: Annotated[str | None, typer.Option(help="Pipeline of requests that name none.")] = None,
    k: Annotated[int, typer.Option("--k", "-k", help="k of requests that name none.")] = 100,
    as_of: Annotated[str | None, typer.Option(help="Time of requests that name none; now where left out.")] = None,
    restart: Annotated[bool, typer.Option(help="Throw the parts of an interrupted run away.")] = False,
) -> None:
    """Rank every request of a file, with the answers that the server would give. Run it again to resume."""
    from navi.bundle.bundle import Bundle
    from navi.cli.offline import Run, default_pipeline, prepare
    from navi.cli.request_table import Defaults, count_rows

    console = Console(stderr=True)
    total = count_rows(requests)
    out.parent.mkdir(parents=True, exist_ok=True)
    with Bundle.open(bundle) as opened:
        moment = time_of(as_of)
        defaults = Defaults(
            pipeline=default_pipeline(opened, pipeline), k=k, as_of=opened.clock.time() if moment is None else moment
        )
        prepared = prepare(Run(opened, requests, out, defaults), restart=restart)
        failed = 0
        with _bar(console) as bar:
            task = bar.add_task("Ranking", total=total)
            for progress in prepared.execute():
                bar.update(task, completed=progress.done)
                failed = progress.failed
    note = f"; [yellow]{failed:,} of this run failed, see the column `error`[/]" if failed else ""
    console.print(f"{total:,} requests answered in {out}{note}", highlight=False)


def _bar(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), console=console
    )
