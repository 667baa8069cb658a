"""`navi bench` commands that need the funnel: the bundles that are measured, and the funnel itself."""

import shutil
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

if TYPE_CHECKING:
    from ranking.training.bench_bundle import Sizes

Runs = Annotated[int, typer.Option(min=1, help="Paired runs; their median counts.")]


class Kind(StrEnum):
    """What a bundle is for."""

    MLP = "mlp"
    RANKER = "ranker"
    FUNNEL = "funnel"


_USUAL: Mapping[Kind, tuple[int, int, tuple[int, ...]]] = {
    Kind.MLP: (100_000, 0, (1, 100, 1000)),
    Kind.RANKER: (20_000, 20_000, (500,)),
    Kind.FUNNEL: (1_000_000, 400_000, ()),
}
"""Items, events, and candidates of the requests, where the command line says nothing."""


def bundle(
    kind: Annotated[Kind, typer.Argument(help="What it is to hold.")],
    out: Annotated[Path, typer.Argument(help="Directory to make.")],
    items: Annotated[int | None, typer.Option(min=100, help="Default: 100,000, 20,000 and 1,000,000.")] = None,
    users: Annotated[int, typer.Option(min=10)] = 2_000,
    events: Annotated[int | None, typer.Option(min=1_000, help="Impressions to train on.")] = None,
    rows: Annotated[list[int] | None, typer.Option(min=1, help="Candidates of the requests; may be repeated.")] = None,
    seed: int = 7,
) -> None:
    """Make a bundle for a benchmark: a plain network, the multi-task ranker, or a funnel over a million items."""
    from navi.core.errors import ConfigError
    from ranking.training.bench_bundle import Sizes

    if out.exists():
        raise ConfigError("out", f"{out} is there already")
    usual = _USUAL[kind]
    sizes = Sizes(items=items or usual[0], users=users, events=events or usual[1], rows=tuple(rows or usual[2]))
    _make(kind, out, sizes, seed=seed)


def _make(kind: Kind, out: Path, sizes: "Sizes", *, seed: int) -> None:
    """The whole bundle, or nothing at `out`."""
    from ranking.training.bench_bundle import write_funnel, write_ranker
    from ranking.training.bench_mlp import write_mlp
    from ranking.training.progress import RichProgress

    work = out.with_name(f".{out.name}.unfinished")
    shutil.rmtree(work, ignore_errors=True)
    work.parent.mkdir(parents=True, exist_ok=True)
    if kind is Kind.MLP:
        write_mlp(work, items=sizes.items, rows=sizes.rows, seed=seed)
    else:
        write = write_ranker if kind is Kind.RANKER else write_funnel
        with RichProgress(Console(stderr=True)) as progress:
            write(work, sizes, seed=seed, report=progress)
    work.rename(out)


def funnel(
    bundle: Annotated[
        Path,
        typer.Option(help="Made by `navi bench bundle funnel`; made here, in minutes, where it is not there."),
    ] = Path(".bench/bundles/funnel"),
    runs: Runs = 5,
    requests: Annotated[int, typer.Option(min=1, help="Of each run.")] = 40,
    k: Annotated[int, typer.Option(min=1, max=500)] = 100,
    seconds: Annotated[float, typer.Option(min=0.01, help="Of each loop of the bare runtime.")] = 2.0,
    out: Annotated[Path, typer.Option(help="JSON file to write.")] = Path(".bench/funnel.json"),
) -> None:
    """A funnel over a million items: stage times, recall of its coarse cut, latency against the model alone."""
    from navi.bench.measurement import measured
    from navi.bench.measurement_table import report
    from ranking.evaluation.funnel_bench import Options, measure
    from ranking.training.bench_bundle import Sizes

    if not bundle.exists():
        items, events, _ = _USUAL[Kind.FUNNEL]
        _make(Kind.FUNNEL, bundle, Sizes(items=items, events=events), seed=7)
    options = Options(runs=runs, requests=requests, k=k, seconds=seconds)
    found = measured(
        lambda: measure(bundle, None, options),
        name="funnel",
        title="The whole funnel",
        settings={"bundle": str(bundle), "runs": runs, "requests": requests, "k": k, "seconds": seconds},
    )
    report(found, out)
