"""`navi bench` commands that measure over the wire, and the table of all of them."""

from pathlib import Path
from typing import Annotated

import typer

from navi.bench.measurement import measured
from navi.bench.measurement_table import report

Runs = Annotated[int, typer.Option(min=1, help="Paired runs; their median counts.")]

Bundles = Annotated[Path, typer.Option(help="Where the bundles are, or are made.")]


def overhead(
    runs: Runs = 5,
    seconds: Annotated[float, typer.Option(min=0.05, help="Of each run of each server.")] = 4.0,
    concurrency: Annotated[int, typer.Option(min=2, help="Calls in flight, beside one at a time.")] = 8,
    out: Annotated[Path, typer.Option(help="JSON file to write.")] = Path(".bench/overhead.json"),
) -> None:
    """CPU of a call that has nothing to do: an empty pipeline against an empty grpc.aio handler."""
    from loadtest.bench.overhead import measure

    found = measured(
        lambda: measure(runs=runs, seconds=seconds, callers=(1, concurrency)),
        name="overhead",
        title="Overhead of a call",
        settings={"runs": runs, "seconds": seconds, "concurrency": concurrency},
    )
    report(found, out)


def engine(
    runs: Runs = 5,
    seconds: Annotated[float, typer.Option(min=0.05, help="Of each run of each way of asking.")] = 3.0,
    concurrency: Annotated[int, typer.Option(min=1, help="Calls in flight.")] = 4,
    protocol: Annotated[list[str] | None, typer.Option(help="columns, ids, kserve, kserve-ids; default: all.")] = None,
    rows: Annotated[list[int] | None, typer.Option(help="Of the plain network; default: 1, 100, 1000.")] = None,
    ranker_rows: Annotated[int, typer.Option(help="Of the multi-task ranker; 0: leave it out.")] = 500,
    bundles: Bundles = Path(".bench/bundles"),
    out: Annotated[Path, typer.Option(help="JSON file to write.")] = Path(".bench/engine.json"),
) -> None:
    """Rows per CPU second through `Score` and `ModelInfer`, against ONNX Runtime alone on the original model."""
    from loadtest.bench.bundles import bundle_of
    from loadtest.bench.engine import Options, measure
    from loadtest.bench.protocols import PROTOCOLS, chosen

    names, sizes = chosen(protocol or list(PROTOCOLS)), rows or [1, 100, 1000]
    wanted = {"mlp": sizes} | ({"ranker": [ranker_rows]} if ranker_rows else {})
    made = {name: (bundle_of(bundles, name, some), some) for name, some in wanted.items()}
    options = Options(runs=runs, seconds=seconds, callers=concurrency, protocols=names)
    found = measured(
        lambda: measure(made, options),
        name="engine",
        title="Scoring against the bare runtime",
        settings={
            "runs": runs,
            "seconds": seconds,
            "concurrency": concurrency,
            "protocol": names,
            "rows": sizes,
            "ranker_rows": ranker_rows,
        },
    )
    report(found, out)


def overload(
    runs: Runs = 5,
    seconds: Annotated[float, typer.Option(min=1, help="Of each load.")] = 20.0,
    deadline_ms: Annotated[float, typer.Option(min=1, help="Of each call.")] = 200.0,
    callers: Annotated[int, typer.Option(min=1, help="Of the closed loop that finds the peak.")] = 8,
    rows: Annotated[int, typer.Option(help="Candidates that the bundle's requests have.")] = 500,
    bundles: Bundles = Path(".bench/bundles"),
    out: Annotated[Path, typer.Option(help="JSON file to write.")] = Path(".bench/overload.json"),
) -> None:
    """Once, twice and four times the peak rate of a ranking pipeline, and the way back."""
    from loadtest.bench.bundles import bundle_of
    from loadtest.bench.overload import Options, measure

    bundle = bundle_of(bundles, "ranker", [rows])
    options = Options(runs=runs, seconds=seconds, deadline_s=deadline_ms / 1000, callers=callers)
    found = measured(
        lambda: measure(bundle, rows, options),
        name="overload",
        title="Overload of `Rank`",
        settings={"runs": runs, "seconds": seconds, "deadline_ms": deadline_ms, "callers": callers, "rows": rows},
    )
    report(found, out)


def table(
    files: Annotated[list[Path], typer.Argument(help="JSON files that `navi bench` wrote, in the table's order.")],
    readme: Annotated[Path | None, typer.Option(help="Put it between the marks of this file.", exists=True)] = None,
) -> None:
    """The performance table in Markdown, from the JSON files."""
    from loadtest.bench.markdown import markdown, replace_in

    text = markdown(files)
    if readme is None:
        typer.echo(text, nl=False)
    else:
        replace_in(readme, text)
        typer.echo(f"table of {len(files)} files written into {readme}")
