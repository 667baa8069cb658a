"""The options of `navi loadtest run`, and what is made of them."""

from pathlib import Path
from typing import Annotated

import typer

Address = Annotated[str, typer.Argument(help="host:port of the server.")]
Protocol = Annotated[str, typer.Option(help="navi-rank, navi-score, kserve or tfserving.")]
Rate = Annotated[float, typer.Option(help="Calls a second; where --find-max begins.")]
Duration = Annotated[float | None, typer.Option(help="Seconds; 10, or the whole of --replay.")]
Shape = Annotated[
    str,
    typer.Option(
        help="poisson; constant (evenly spaced); ramp (to the peak); step (to the peak and back); spike; diurnal."
    ),
]
Peak = Annotated[float | None, typer.Option(help="Highest rate of ramp, step, spike and diurnal; twice --rate.")]
Replay = Annotated[Path | None, typer.Option(help="File of recorded calls: their requests, with their gaps.")]
Speed = Annotated[float, typer.Option(help="How many times as fast --replay goes.")]
Closed = Annotated[int, typer.Option(help="Callers that wait for each answer instead of a schedule.")]
Processes = Annotated[int, typer.Option(help="Client processes.")]
Connections = Annotated[int, typer.Option(help="Separate connections of each client process.")]
TimeoutMs = Annotated[float, typer.Option(help="Deadline of each call, in milliseconds.")]
Seed = Annotated[int, typer.Option(help="What schedule and requests are drawn from.")]
Users = Annotated[str | None, typer.Option(help="first..last, or a file with one key a line; left out: anonymous.")]
Zipf = Annotated[float, typer.Option(help="Exponent of the users' Zipf law; 0: all alike.")]
Items = Annotated[str | None, typer.Option(help="first..last, or a file with one id a line: what is scored.")]
Candidates = Annotated[
    str | None, typer.Option(help="Candidates a request: a number, or public (100 to 700, mean 270).")
]
K = Annotated[int, typer.Option("--k", "-k", help="How many are asked for.")]
Pipeline = Annotated[str, typer.Option(help="Pipeline; may be left out where the server has one.")]
Features = Annotated[list[str] | None, typer.Option("--feature", "-f", help="Request feature, name=value.")]
Model = Annotated[str, typer.Option(help="Model of kserve and tfserving.")]
ModelVersion = Annotated[str, typer.Option(help="Its version; the server's choice where left out.")]
Inputs = Annotated[
    list[str] | None,
    typer.Option("--input", help="Input of the model, NAME:DATATYPE:DIMS (-1: candidates); asked of the server."),
]
IntegersBelow = Annotated[int, typer.Option(help="Integers of tensors are drawn below this: ids have a range.")]
ServerPid = Annotated[
    int | None, typer.Option(help="Process id of the server: its CPU is measured, children included.")
]
Out = Annotated[Path | None, typer.Option(help="JSON file of the result.")]
Report = Annotated[Path | None, typer.Option(help="HTML file of the report.")]
FindMax = Annotated[str | None, typer.Option(help="Search the highest rate that meets an objective, such as p99=50ms.")]
MaxFailures = Annotated[float, typer.Option(help="Share of calls that --find-max lets go unanswered.")]
ProbeSeconds = Annotated[float, typer.Option("--probe", help="Seconds of each run of --find-max.")]
MaxRate = Annotated[float, typer.Option(help="Rate that --find-max does not go above.")]
