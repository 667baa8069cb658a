"""What a server does with more calls than it can answer: goodput, lateness, refusals, losses, and how it recovers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from loadtest.bench.servers import navi_server
from loadtest.bench.workload import Workload, read_workload
from loadtest.curve import Curve
from loadtest.histogram import merged, seconds_of
from loadtest.plan import Plan
from loadtest.population import Population
from loadtest.result import Outcome, Result, Window
from loadtest.run import run
from loadtest.schedule import poisson
from loadtest.targets.navi_rank import NaviRank
from navi.bench.measurement import Measure, of_runs
from navi.bench.placement import Placement
from navi.bench.processes import Started, pinned
from navi.core.arrays import F64
from navi.core.errors import FaultError
from navi.core.ids import Ids

FACTORS = (1.0, 2.0, 4.0)
BACK, HEALTHY = 0.7, 0.99
"""The load after the overload, as a share of the peak, and the share of good calls that makes a second a good one."""
STEADY = 3
"""Seconds in a row that must be good: a machine that pauses much later has not undone a recovery."""
CROWD = 16
"""Callers of a server that takes one call at a time."""
BUSY = 0.7
"""Share of its core from which a generator measures itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """runs of every load, `seconds` each. deadline_s: of each call. callers: that find the peak."""

    runs: int
    seconds: float
    deadline_s: float
    callers: int
    connections: int = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What one load found. good: answers within the deadline (from when the call was due), a second."""

    due: int
    good: float
    result: Result

    def share(self, outcome: Outcome) -> float:
        return self.result.outcomes[outcome] / max(self.due, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """peak: good answers a second of a closed loop. loads: by factor. recovery_s: infinite where it did not recover."""

    peak: float
    busy: float
    loads: Mapping[float, Load]
    recovery_s: float


def measure(bundle: Path, rows: int, options: Options) -> tuple[list[Measure], list[str]]:
    """`Rank` of the multi-task ranker's pipeline in `bundle`, with `rows` candidates re-ranked."""
    place = Placement.here()
    target = _target(read_workload(bundle, "ranker", rows))
    with navi_server(bundle, place.server) as server, pinned(place.load):
        _run(server, target, replace(options, seconds=options.seconds / 5), closed=options.callers)  # warm up
        rounds = [_round(server, target, options, seed) for seed in range(options.runs)]
    with navi_server(bundle, place.server, ["--max-in-flight", "1"]) as server, pinned(place.load):
        refusals = [_refusal(server, target, options) for _ in range(options.runs)]
    refusal = of_runs(("one refusal", "server CPU"), "us", refusals, headline=True)
    return [*_measures(rounds, options), refusal], [*place.notes, *_notes(rounds, options)]


def good_calls(windows: Sequence[Window], deadline_s: float) -> int:
    """Answers that came within the deadline, to the histogram's one per cent."""
    counts = merged(window.latency for window in windows)
    return sum(count for bucket, count in counts.items() if seconds_of(bucket - 1) <= deadline_s)


def recovery_seconds(windows: Sequence[Window], since: float, deadline_s: float) -> float:
    """Seconds from `since` until the first of `STEADY` windows in a row whose calls are nearly all good; infinite
    without any."""
    later = [window for window in windows if window.start + window.seconds / 2 >= since]
    well = [good_calls([window], deadline_s) >= HEALTHY * window.offered for window in later]
    for at in range(len(later) - STEADY + 1):
        if all(well[at : at + STEADY]):
            return max(later[at].start - since, 0.0)
    return float(np.inf)


def _target(workload: Workload) -> NaviRank:
    assert workload.user is not None
    features = {name: values[0] for name, values in workload.request.items()}
    return NaviRank(users=Population(Ids(workload.user.astype(np.int64))), k=50, features=features)


def _round(server: Started, target: NaviRank, options: Options, seed: int) -> Round:
    closed = _run(server, target, options, closed=options.callers)
    peak = good_calls(closed.windows, options.deadline_s) / closed.seconds
    if peak == 0:
        raise FaultError("no call was answered within the deadline by a server without overload")
    loads = {}
    for factor in FACTORS:
        times = poisson(_flat(factor * peak, options.seconds), np.random.default_rng(seed))
        result = _run(server, target, options, due=times)
        good = good_calls(result.windows, options.deadline_s) / result.seconds
        loads[factor] = Load(due=len(times), good=good, result=result)
    half = options.seconds / 2
    back = Curve(np.array([0.0, half, half, 2 * half]), np.array([2.0, 2.0, BACK, BACK]) * peak)
    result = _run(server, target, options, due=poisson(back, np.random.default_rng(seed)))
    busy = max(one.cpu_share for load in loads.values() for one in load.result.generators)
    recovery_s = recovery_seconds(result.windows, half, options.deadline_s)
    return Round(peak=peak, busy=busy, loads=loads, recovery_s=recovery_s)


def _flat(rate: float, seconds: float) -> Curve:
    return Curve(np.array([0.0, seconds]), np.array([rate, rate]))


def _run(server: Started, target: NaviRank, options: Options, *, due: F64 | None = None, closed: int = 0) -> Result:
    """An open loop where times are due, or a closed one. FaultError where it could not be run to its end."""
    plan = Plan(
        address=server.facts["address"],
        seconds=options.seconds,
        due=np.empty(0) if due is None else due,
        closed=closed,
        timeout_s=options.deadline_s,
        connections=options.connections,
        server_pid=server.pid,
    )
    result = run(plan, target)
    if not result.complete:
        raise FaultError(f"a load was not run to its end: {'; '.join(result.warnings)}")
    return result


def _measures(rounds: Sequence[Round], options: Options) -> list[Measure]:
    found = [of_runs(("peak", "good answers, closed loop"), "1/s", [one.peak for one in rounds])]
    for factor in FACTORS:
        found += _of_load(f"{factor:g}x the peak", [(one.peak, one.loads[factor]) for one in rounds], options, factor)
    found += [
        of_runs(("after 2x", f"seconds until well at {BACK}x"), "s", [one.recovery_s for one in rounds], headline=True),
        of_runs(("generator", "share of its core"), "share", [one.busy for one in rounds], aim=f"< {BUSY:.0%}"),
    ]
    return found


def _of_load(group: str, loads: Sequence[tuple[float, Load]], options: Options, factor: float) -> list[Measure]:
    """loads: with the peak of their round."""
    deadline, shown, some = f"<= {options.deadline_s * 1e3:g} ms", factor == 2.0, [load for _, load in loads]
    p99 = [load.result.latency["p99"] * 1e3 for load in some]
    lost = [load.due - load.result.calls for load in some]
    goodput = [load.good / peak for peak, load in loads]
    return [
        of_runs((group, "goodput / peak"), "share", goodput, aim=">= 90 %", headline=shown),
        of_runs((group, "p99 of what was answered"), "ms", p99, aim=deadline, headline=shown),
        of_runs((group, "refused"), "share", [load.share("shed") for load in some], headline=shown),
        of_runs((group, "past the deadline"), "share", [load.share("deadline") for load in some]),
        of_runs((group, "degraded"), "share", [load.share("degraded") for load in some]),
        of_runs((group, "errors"), "share", [load.share("error") for load in some], aim="0"),
        of_runs((group, "calls without any outcome"), "calls", lost, aim="0", headline=shown),
    ]


def _refusal(server: Started, target: NaviRank, options: Options) -> float:
    """CPU microseconds of a refusal by a server that takes one call at a time: what its answers do not account for."""
    alone = _run(server, target, options, closed=1)
    crowd = _run(server, target, options, closed=CROWD)
    if not _answered(alone) or not crowd.outcomes["shed"]:
        raise FaultError("a server that takes one call at a time refused none, or answered none")
    an_answer = (alone.server_seconds or 0.0) / _answered(alone)
    left = (crowd.server_seconds or 0.0) - an_answer * _answered(crowd)
    return max(left, 0.0) * 1e6 / crowd.outcomes["shed"]


def _answered(result: Result) -> int:
    return result.outcomes["ok"] + result.outcomes["degraded"]


def _notes(rounds: Sequence[Round], options: Options) -> list[str]:
    notes = [f"deadline {options.deadline_s * 1e3:g} ms a call, counted from when it was due; recovery to a second"]
    if max(one.busy for one in rounds) >= BUSY:
        notes.append(f"the generator used {max(one.busy for one in rounds):.0%} of its core: it measured itself, too")
    return notes
