"""A run on the terminal: while it goes on, and what came of it."""

import math
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
from rich.progress_bar import ProgressBar
from rich.table import Table

from loadtest.progress import RECENT_S, Progress, Watch
from loadtest.result import Outcome, Percentiles, Result

LINE_S = 1.0
"""How often a line is printed where no terminal is."""

_COLOURS: dict[Outcome, str] = {
    "ok": "green",
    "degraded": "yellow",
    "shed": "magenta",
    "deadline": "red",
    "error": "bold red",
}
_SHOWN = ("p50", "p90", "p95", "p99", "p99.9", "max", "mean")


@contextmanager
def watching(console: Console) -> Iterator[Watch]:
    """Shows progress for as long as the block lasts: in place on a terminal, as lines elsewhere."""
    if not console.is_terminal:
        yield _Lines(console).show
        return
    with Live(console=console, auto_refresh=False, transient=True) as live:
        yield lambda progress: live.update(_panel(progress), refresh=True)


def result_view(result: Result) -> Group:
    """What a run found, for a person."""
    table = Table("milliseconds", *_SHOWN)
    for column in table.columns[1:]:
        column.justify = "right"
    table.add_row("from due time", *_numbers(result.latency))
    table.add_row("from sending", *_numbers(result.service))
    table.add_row("sent late by", *_numbers(result.lateness))
    lines: list[str | Table] = []
    if result.calls:
        lines = [
            f"{result.calls:,} calls in {result.seconds:.1f} s: offered {result.offered:.1f}/s, "
            f"served {result.served:.1f}/s; {_outcomes(result.outcomes)}",
            table,
            *_stages(result),
            _means(result),
        ]
    lines += [f"[red]{count:,} x[/] {escape(text)}" for text, count in result.errors.items()]
    lines += [f"[yellow]warning:[/] {escape(text)}" for text in result.warnings]
    if not result.complete:
        lines.append("[bold red]the run did not go to its end[/]")
    return Group(*lines)


def milliseconds(seconds: float) -> str:
    return "-" if math.isnan(seconds) else f"{seconds * 1e3:.2f}"


class _Lines:
    """Prints a line a second."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._next = LINE_S / 2

    def show(self, progress: Progress) -> None:
        if progress.elapsed > self._next:
            self._next = math.floor(progress.elapsed / LINE_S) * LINE_S + LINE_S
            self._console.print(_line(progress), highlight=False, soft_wrap=True)


def _line(progress: Progress) -> str:
    return (
        f"{progress.elapsed:6.1f} s  offered {progress.offered:.1f}/s  served {progress.served:.1f}/s  "
        f"p50 {milliseconds(progress.p50)} ms  p99 {milliseconds(progress.p99)} ms  {_outcomes(progress.outcomes)}"
    )


def _panel(progress: Progress) -> Group:
    bar = Table.grid(padding=(0, 2))
    bar.add_row(
        ProgressBar(total=progress.seconds, completed=min(progress.elapsed, progress.seconds), width=40),
        f"{progress.elapsed:.1f} of {progress.seconds:.1f} s",
        _outcomes(progress.outcomes),
    )
    now = Table("offered/s", "served/s", "p50 ms", "p99 ms", title=f"last {RECENT_S:g} s", title_justify="left")
    now.add_row(
        f"{progress.offered:.1f}", f"{progress.served:.1f}", milliseconds(progress.p50), milliseconds(progress.p99)
    )
    return Group(bar, now)


def _means(result: Result) -> str:
    """By what the calls were sent, and what that cost."""
    split = list(result.connections.values())
    clients = ", ".join(f"{one.cpu_share:.0%}" for one in result.generators) or "none"
    server = "" if result.server_seconds is None else f"; the server used {result.server_seconds:.2f} CPU seconds"
    calls = f"{min(split, default=0):,} to {max(split, default=0):,} calls each"
    return f"{len(split)} connections, {calls}; client processes used {clients} of a core{server}"


def _outcomes(outcomes: dict[Outcome, int]) -> str:
    return ", ".join(f"[{_COLOURS[name]}]{count:,} {name}[/]" for name, count in outcomes.items() if count) or "none"


def _numbers(percentiles: Percentiles) -> list[str]:
    return [milliseconds(percentiles[name]) for name in _SHOWN]


def _stages(result: Result) -> list[Table]:
    if not result.stages:
        return []
    table = Table("server stage", "calls", "mean ms", "p50 ms", "p99 ms")
    for column in table.columns[1:]:
        column.justify = "right"
    for stage in result.stages:
        table.add_row(escape(stage.name), f"{stage.calls:,}", *map(milliseconds, (stage.mean, stage.p50, stage.p99)))
    return [table]
