"""Rows per CPU second of a served model, against the bare runtime on the same rows of the original model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from loadtest.bench.bare import bare_logits
from loadtest.bench.closed_loop import Asked, Cost, cost, replies
from loadtest.bench.protocols import PROTOCOLS, ScoringProtocol
from loadtest.bench.servers import navi_server
from loadtest.bench.workload import Workload, read_workload
from navi.bench.bare_run import BareRun, bare_run
from navi.bench.measurement import Measure, of_runs
from navi.bench.placement import Placement
from navi.bench.processes import Started, pinned
from navi.core.arrays import F32, F64
from navi.core.errors import FaultError

TOLERANCE = 1e-5
"""Of a logit, relative to max(1, |logit|)."""
ROUNDING = float(np.finfo(np.float32).eps)
"""Of a probability, which travels as float32."""
AIMS: Mapping[tuple[str, int, str], str] = {
    ("mlp", 1, "columns"): "Triton: 0.17",
    ("mlp", 100, "columns"): "Triton: 0.61",
    ("mlp", 1000, "columns"): "Triton: 0.59",
    ("mlp", 1000, "ids"): "> 1",
    ("mlp", 1, "kserve"): "Triton: 0.17",
    ("mlp", 100, "kserve"): "Triton: 0.61",
    ("mlp", 1000, "kserve"): "Triton: 0.59",
}
TITLES: Mapping[str, str] = {"mlp": "64-256-128-1", "ranker": "multi-task ranker"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """runs of `seconds` each, with so many callers at a time, by protocols of `PROTOCOLS`."""

    runs: int
    seconds: float
    callers: int
    protocols: Sequence[str]


def measure(bundles: Mapping[str, tuple[Path, Sequence[int]]], options: Options) -> tuple[list[Measure], list[str]]:
    """bundles: by model, where it is and which numbers of rows to ask for.

    FaultError where a score is not the bare runtime's: then nothing is worth measuring.
    """
    place, found, worst = Placement.here(), [], 0.0
    for name, (bundle, sizes) in bundles.items():
        with navi_server(bundle, place.server) as server, pinned(place.load):
            for rows in sizes:
                workload = read_workload(bundle, name, rows)
                worst = max(worst, _check(server, workload, options, place))
                found += _paired(server, workload, options, place)
    notes = [
        *place.notes,
        f"efficiency: CPU seconds a row of the bare runtime / of the whole server process; "
        f"{options.callers} callers, one connection",
        f"every score compared with the bare runtime's before: largest difference {worst:.1e} of a logit",
    ]
    return found, notes


def _paired(server: Started, workload: Workload, options: Options, place: Placement) -> list[Measure]:
    """All ways of asking in turn, run by run."""
    asked = {
        name: Asked(server, PROTOCOLS[name].method, _requests(workload, PROTOCOLS[name]), options.callers)
        for name in options.protocols
    }
    bare: list[BareRun] = []
    served: dict[str, list[Cost]] = {name: [] for name in asked}
    for _ in range(options.runs):
        bare.append(bare_run(workload.model, workload.inputs, core=place.server, seconds=options.seconds))
        for name, ask in asked.items():
            served[name].append(cost(ask, seconds=options.seconds))
    what, rows = f"{TITLES.get(workload.name, workload.name)}, N = {workload.rows:,}", workload.rows
    made = [of_runs((what, "bare runtime"), "rows/CPU s", [one.rows / one.cpu_seconds for one in bare])]
    for name, costs in served.items():
        per_row = [one.cpu_seconds / (one.calls * rows) for one in costs]
        floor = [one.cpu_seconds / one.rows for one in bare]
        says, aim = PROTOCOLS[name].says, AIMS.get((workload.name, rows, name), "")
        efficiency = [a / b for a, b in zip(floor, per_row, strict=True)]
        made.append(of_runs((f"{what}, {says}", "efficiency"), "x", efficiency, aim=aim, headline=True))
        made.append(of_runs((f"{what}, {says}", "server"), "rows/CPU s", [1 / one for one in per_row]))
    return made


def _requests(workload: Workload, protocol: ScoringProtocol) -> list[bytes]:
    return [protocol.request(workload, at) for at in range(workload.sets)]


def _check(server: Started, workload: Workload, options: Options, place: Placement) -> float:
    """The largest difference of a logit over all requests and protocols, relative."""
    logits, worst = bare_logits(workload, core=place.server), 0.0
    for name in options.protocols:
        protocol = PROTOCOLS[name]
        answers = replies(Asked(server, protocol.method, _requests(workload, protocol)))
        for expected, answer in zip(logits, answers, strict=True):
            worst = max(worst, difference(protocol.probabilities(answer), expected))
    if worst > TOLERANCE:
        raise FaultError(f"{workload.name}: a served score differs from the bare runtime's by {worst:.1e} of a logit")
    return worst


def difference(probabilities: F32, logits: F64) -> float:
    """The largest difference of logits [rows, tasks], relative to max(1, |logit|), beyond float32's rounding."""
    expected = 1.0 / (1.0 + np.exp(-logits))
    beyond = np.maximum(np.abs(probabilities - expected) - ROUNDING * expected, 0.0)
    slope = expected * (1.0 - expected) * np.maximum(1.0, np.abs(logits))
    return float(np.max(beyond / slope))
