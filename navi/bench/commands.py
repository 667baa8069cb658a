"""`navi bench` commands that run in one process."""

from pathlib import Path
from typing import Annotated

import typer

from navi.bench.measurement import measured
from navi.bench.measurement_table import report

Runs = Annotated[int, typer.Option(min=1, help="Paired runs; their median counts.")]
Out = Annotated[Path, typer.Option(help="JSON file to write.")]


def coarse(
    runs: Runs = 5,
    turns: Annotated[int, typer.Option(min=1, help="Turns of each op in a run.")] = 32,
    items: Annotated[int, typer.Option(min=1_000)] = 1_000_000,
    candidates: Annotated[int, typer.Option(min=100)] = 100_000,
    dims: Annotated[int, typer.Option(min=1)] = 64,
    k: Annotated[int, typer.Option(min=1)] = 500,
    seed: int = 0,
    out: Out = Path(".bench/coarse.json"),
) -> None:
    """Dot products of chosen rows and their best k, against numpy's take, BLAS and argpartition."""
    from navi.bench.coarse import Sizes, measure

    if not k <= candidates <= items:
        raise typer.BadParameter("must hold: k <= candidates <= items")
    sizes = Sizes(items=items, candidates=candidates, dims=dims, k=k)
    settings = {"runs": runs, "turns": turns, "items": items, "candidates": candidates, "dims": dims, "k": k}
    found = measured(
        lambda: (measure(sizes, runs=runs, turns=turns, seed=seed), ()),
        name="coarse",
        title=f"Coarse scoring: {candidates:,} of {items:,} rows, {dims} dims, fp32, top {k}",
        settings={**settings, "seed": seed},
    )
    report(found, out)
