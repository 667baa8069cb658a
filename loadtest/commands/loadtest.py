"""`navi loadtest`: put a server under load, and look at what came of it."""

from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.markup import escape

from loadtest.commands import options as o
from navi.core.errors import InvalidArgument

app = typer.Typer(no_args_is_help=True, help="Put a server under load, and look at what came of it.")


@app.command()
def run(
    address: o.Address,
    protocol: o.Protocol = "navi-rank",
    rate: o.Rate = 50.0,
    duration: o.Duration = None,
    shape: o.Shape = "poisson",
    peak: o.Peak = None,
    replay: o.Replay = None,
    speed: o.Speed = 1.0,
    closed: o.Closed = 0,
    processes: o.Processes = 1,
    connections: o.Connections = 16,
    timeout_ms: o.TimeoutMs = 1000.0,
    seed: o.Seed = 0,
    users: o.Users = None,
    zipf: o.Zipf = 1.0,
    items: o.Items = None,
    candidates: o.Candidates = None,
    k: o.K = 50,
    pipeline: o.Pipeline = "",
    feature: o.Features = None,
    model: o.Model = "",
    model_version: o.ModelVersion = "",
    inputs: o.Inputs = None,
    integers_below: o.IntegersBelow = 100,
    server_pid: o.ServerPid = None,
    out: o.Out = None,
    report: o.Report = None,
    find_max: o.FindMax = None,
    max_failures: o.MaxFailures = 0.01,
    probe: o.ProbeSeconds = 4.0,
    max_rate: o.MaxRate = 20_000.0,
) -> None:
    """Send calls by a schedule made beforehand, and tell their latency from when they were due.

    A server that asks for it is shown NAVI_TOKEN and NAVI_CERTIFICATE with NAVI_KEY, and known by NAVI_CA.

    Ends with status 1 where calls failed, or where the schedule could not be run to its end; what was found till then
    is written all the same.
    """
    from loadtest.commands import running
    from loadtest.workload import Workload

    workload = Workload(
        protocol=protocol,
        users=users,
        zipf=zipf,
        items=items,
        candidates=candidates,
        k=k,
        pipeline=pipeline,
        features=feature or (),
        model=model,
        model_version=model_version,
        inputs=inputs or (),
        integers_below=integers_below,
    )
    sending = running.Sending(
        address=address,
        processes=processes,
        connections=connections,
        timeout_s=timeout_ms / 1000,
        closed=closed,
        seed=seed,
        server_pid=server_pid,
    )
    if find_max is not None:
        if replay or closed or report or duration or peak:
            raise InvalidArgument("find-max", "goes without --duration, --peak, --replay, --closed and --report")
        search = running.Limits(objective=find_max, failures=max_failures, first=rate, highest=max_rate, seconds=probe)
        raise typer.Exit(running.find_max(workload, sending, search, out))
    when = running.When(shape=shape, rate=rate, peak=peak, seconds=duration, replay=replay, speed=speed)
    raise typer.Exit(running.run_once(workload, sending, when, out=out, report=report))


@app.command()
def check(
    rate: Annotated[float, typer.Option(help="Calls a second.")] = 500.0,
    duration: Annotated[float, typer.Option(help="Seconds of each of the three runs.")] = 5.0,
    delay_ms: Annotated[float, typer.Option(help="The stub's, in milliseconds.")] = 5.0,
    processes: o.Processes = 1,
    out: o.Out = None,
) -> None:
    """Measure the harness itself: against a stub of known delay, and one that stalls for a second."""
    from loadtest.check import check as measure
    from loadtest.check import check_table
    from loadtest.view import watching

    with watching(Console(stderr=True)) as watch:
        found = measure(rate=rate, seconds=duration, delay_s=delay_ms / 1000, processes=processes, watch=watch)
    if out is not None:
        found.write(out)
    console = Console()
    console.print(check_table(found))
    runs = {"steady": found.steady, "stalled": found.stalled, "closed loop": found.waiting}
    for name, result in runs.items():
        for text in result.warnings:
            console.print(f"[yellow]warning[/] ({name}): {escape(text)}", highlight=False)
    raise typer.Exit(0 if all(result.complete for result in runs.values()) else 1)


@app.command()
def stub(
    address: Annotated[str, typer.Option(help="host:port; port 0: a free one.")] = "127.0.0.1:50051",
    delay_ms: Annotated[float, typer.Option(help="From a call's arrival to its answer, in milliseconds.")] = 5.0,
    stall_at: Annotated[float, typer.Option(help="Seconds from the first call to the stall.")] = 0.0,
    stall: Annotated[float, typer.Option(help="Seconds for which nothing is answered; 0: no stall.")] = 0.0,
    shed: Annotated[float, typer.Option(help="Share of calls that are refused.")] = 0.0,
    errors: Annotated[float, typer.Option(help="Share of calls that fail.")] = 0.0,
    degraded: Annotated[float, typer.Option(help="Share of answers that say that they are degraded.")] = 0.0,
) -> None:
    """Serve answers to Rank and Score that mean nothing, after a known time, until SIGTERM or SIGINT."""
    from loadtest.stub.navi_stub import StubSettings, serve_stub

    settings = StubSettings(
        address=address,
        delay_s=delay_ms / 1000,
        stall_at_s=stall_at,
        stall_s=stall,
        shed=shed,
        errors=errors,
        degraded=degraded,
    )
    serve_stub(settings, lambda port: _tell(address, port))


@app.command()
def stub_tensors(
    protocol: Annotated[Literal["kserve", "tfserving"], typer.Argument(help="What it speaks.")],
    inputs: Annotated[list[str], typer.Option("--input", help="Input of the model, NAME:DATATYPE:DIMS (-1: rows).")],
    model: Annotated[str, typer.Option(help="Name of the model.")] = "model",
    address: Annotated[str, typer.Option(help="host:port; port 0: a free one.")] = "127.0.0.1:50051",
    delay_ms: Annotated[float, typer.Option(help="Between the inputs and the answer, in milliseconds.")] = 5.0,
) -> None:
    """Serve one model that computes next to nothing, after a known time, until SIGTERM or SIGINT."""
    from loadtest.stub.running import serve_tensors
    from loadtest.stub.tensor_model import TensorModel
    from loadtest.targets.tensor_inputs import inputs_of

    served = TensorModel(name=model, inputs=inputs_of(inputs), delay_s=delay_ms / 1000)
    serve_tensors(protocol, served, lambda port: _tell(address, port), address=address)


def _tell(address: str, port: int) -> None:
    Console().print(f"stub on {address.rpartition(':')[0]}:{port}", highlight=False)


@app.command()
def report(
    result: Annotated[Path, typer.Argument(help="JSON file of a run.")],
    out: Annotated[Path, typer.Argument(help="HTML file to write.")],
) -> None:
    """Write the report of a run: one HTML file that holds all it needs."""
    from loadtest.report.html import write_report
    from loadtest.result import read_result

    write_report(read_result(result), out)
    Console().print(f"{out} written", highlight=False)


@app.command()
def compare(
    a: Annotated[Path, typer.Argument(help="JSON file of a run.")],
    b: Annotated[Path, typer.Argument(help="JSON file of another.")],
) -> None:
    """Hold two runs side by side, with intervals."""
    from loadtest.report.compare import compare as side_by_side
    from loadtest.result import read_result

    Console().print(side_by_side(read_result(a), read_result(b)))
