"""What `navi loadtest run` does once its options are read; each function gives the command's exit status."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast, get_args

import numpy as np
from rich.console import Console
from rich.markup import escape

from loadtest.curve import Shape
from loadtest.find_max import Found, Search, Step
from loadtest.objective import objective
from loadtest.result import Result
from loadtest.run import Plan, run
from loadtest.schedule import recorded, schedule
from loadtest.target import Target
from loadtest.targets.recorded import Recorded, read_recording
from loadtest.view import milliseconds, result_view, watching
from loadtest.workload import Workload, target_of
from navi.bench.environment import environment
from navi.core.arrays import F64
from navi.core.errors import InvalidArgument

DEFAULT_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sending:
    """How calls are sent, whatever they ask."""

    address: str
    processes: int
    connections: int
    timeout_s: float
    closed: int
    seed: int
    server_pid: int | None

    def plan(self, *, due: F64, seconds: float, protocol: str, words: dict[str, Any]) -> Plan:
        return Plan(due=due, seconds=seconds, protocol=protocol, words=words, **asdict(self))


@dataclass(frozen=True, slots=True, kw_only=True)
class When:
    """When calls are due. seconds: None for the default, or the whole recording."""

    shape: str
    rate: float
    peak: float | None
    seconds: float | None
    replay: Path | None
    speed: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What `--find-max` searches between."""

    objective: str
    failures: float
    first: float
    highest: float
    seconds: float


def run_once(workload: Workload, sending: Sending, when: When, *, out: Path | None, report: Path | None) -> int:
    target = target_of(workload, sending.address)
    words = _words(workload, sending, asdict(when))
    if when.replay is not None:
        target, plan = _replayed(target, sending, when, words)
    elif sending.closed:
        words = _without(words, "shape", "rate", "peak", "speed")
        plan = sending.plan(due=np.empty(0), seconds=when.seconds or DEFAULT_S, protocol=workload.protocol, words=words)
    else:
        plan = _scheduled(workload.protocol, sending, when, _without(words, "speed", "closed"))
    with watching(Console(stderr=True)) as watch:
        result = run(plan, target, watch=watch)
    _write(result, out, report)
    Console().print(result_view(result), highlight=False)
    return 0 if result.complete and not result.outcomes["error"] else 1


def find_max(workload: Workload, sending: Sending, limits: Limits, out: Path | None) -> int:
    wanted, target = objective(limits.objective, limits.failures), target_of(workload, sending.address)
    words, console = _words(workload, sending, asdict(limits)), Console()

    def probe(rate: float) -> Result:
        generator = np.random.default_rng([sending.seed, round(rate * 1000)])
        due = schedule("poisson", rate=rate, seconds=limits.seconds, generator=generator)
        with watching(Console(stderr=True)) as watch:
            plan = sending.plan(due=due, seconds=limits.seconds, protocol=workload.protocol, words=words)
            return run(plan, target, watch=watch)

    def told(step: Step) -> None:
        console.print(_step(step, wanted.percentile), highlight=False, soft_wrap=True)

    search = Search(probe, wanted, told)
    rate, problem = search.run(limits.first, limits.highest)
    found = Found(
        objective=str(wanted),
        target=sending.address,
        plan=words,
        environment=environment(),
        rate=rate,
        problem=problem,
        steps=search.steps,
    )
    if out is not None:
        found.write(out)
    if rate is not None:
        console.print(f"[bold]{rate:.4g} calls a second[/] meet {wanted}", highlight=False)
    if problem:
        console.print(f"[bold red]no answer:[/] {escape(problem)}", highlight=False, soft_wrap=True)
    return 1 if problem else 0


def _scheduled(protocol: str, sending: Sending, when: When, words: dict[str, Any]) -> Plan:
    if when.shape not in get_args(Shape):
        raise InvalidArgument("shape", f"is {when.shape!r}, none of {', '.join(get_args(Shape))}")
    seconds = DEFAULT_S if when.seconds is None else when.seconds
    generator = np.random.default_rng(sending.seed)
    due = schedule(cast("Shape", when.shape), rate=when.rate, seconds=seconds, peak=when.peak, generator=generator)
    return sending.plan(due=due, seconds=seconds, protocol=protocol, words=words)


def _replayed(target: Target, sending: Sending, when: When, words: dict[str, Any]) -> tuple[Target, Plan]:
    """The recording's own requests and gaps, up to the duration."""
    assert when.replay is not None
    if sending.closed:
        raise InvalidArgument("closed", "does not go with replay: a recording has its own times")
    recording = read_recording(when.replay, target.method)
    due = recorded(recording.arrivals, when.speed)
    if when.seconds is not None:
        due = due[due < when.seconds]
    seconds = float(due[-1]) + 1e-3 if when.seconds is None else when.seconds
    words = {**_without(words, "shape", "rate", "peak", "closed"), "calls of other methods": recording.others}
    calls = recording.calls[: len(due)]
    return Recorded(target, calls), sending.plan(due=due, seconds=seconds, protocol=words["protocol"], words=words)


def _words(workload: Workload, sending: Sending, when: dict[str, Any]) -> dict[str, Any]:
    """What was asked for, as a result says it."""
    given = {**asdict(workload), **asdict(sending), **when}
    return {
        name: str(value) if isinstance(value, Path) else list(value) if isinstance(value, tuple) else value
        for name, value in given.items()
        if value not in (None, "", (), [])
    }


def _without(words: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in words.items() if name not in names}


def _write(result: Result, out: Path | None, report: Path | None) -> None:
    if out is not None:
        result.write(out)
    if report is not None:
        from loadtest.report.html import write_report

        write_report(result, report)


def _step(step: Step, percentile: str) -> str:
    verdict = f"[red]missed[/]: {escape(step.missed)}" if step.missed else "[green]met[/]"
    found = milliseconds(step.latency[percentile])
    return f"{step.rate:8.1f}/s  {percentile} {found} ms  busiest client {step.cpu_share:.0%} of a core  {verdict}"
