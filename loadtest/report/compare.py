"""Two results side by side: what differs, by how much, and whether one pair of runs can tell."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from rich.console import Group
from rich.table import Table
from rich.text import Text

from loadtest.histogram import PER_OCTAVE
from loadtest.report.bootstrap import Floats, Sample, Statistic, both, redrawn, sample_of
from loadtest.report.verdict import checks_of
from loadtest.report.words import NONE, duration, percent, rate
from loadtest.result import OUTCOMES, Outcome, Result

Judgement: TypeAlias = Literal["better", "worse", "different", "no difference seen", "not judged"]
Unit: TypeAlias = Literal["s", "calls/s", "share"]
Better: TypeAlias = Literal["higher", "lower", "neither"]

WINDOWS = 10
"""Fewer in a run, and drawing them again says little of what another run would have shown."""

BUCKET = 2 ** (1 / PER_OCTAVE) - 1
"""The relative width of a histogram's bucket: percentiles nearer to each other than that are the same."""

QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99.9": 0.999}
SAID: Mapping[str, Callable[[float], str]] = {"s": duration, "calls/s": rate, "share": percent}
STYLES: Mapping[str, str] = {"better": "green", "worse": "red", "different": "yellow"}


@dataclass(frozen=True, slots=True)
class Row:
    """One number of both runs. low, high: 95 % interval of `b - a`, in the unit of both; NaN where there is none.

    unit: `s`, `calls/s`, or `share` of one.
    """

    name: str
    unit: Unit
    a: float
    b: float
    low: float
    high: float
    judgement: Judgement

    @property
    def difference(self) -> float:
        return self.b - self.a


@dataclass(frozen=True, slots=True)
class Comparison:
    """What `compare` found. warnings: why the two may not be comparable, in sentences."""

    a: str
    b: str
    rows: tuple[Row, ...]
    warnings: tuple[str, ...]

    def __rich__(self) -> Group:
        """The table, then the warnings: what `Console.print` shows."""
        return Group(self.table(), *(Text(f"Warning: {warning}", style="yellow") for warning in self.warnings))

    def table(self) -> Table:
        """The rows for a terminal. The intervals know of the spread within these runs only, which the caption says."""
        caption = (
            f"A: {self.a}  B: {self.b}\n95 % intervals from the windows of these two runs, drawn again in blocks: two "
            "runs of the same thing can differ by more. Of twenty rows, one is expected to stand out by chance."
        )
        table = Table(title="B against A", caption=Text(caption), title_justify="left", caption_justify="left")
        table.add_column("")
        for column in ("A", "B", "B - A", "95 % interval", "change"):
            table.add_column(column, justify="right")
        table.add_column("verdict")
        for row in self.rows:
            table.add_row(*map(Text, _cells(row)), Text(row.judgement, style=STYLES.get(row.judgement, "dim")))
        return table


def compare(a: Result, b: Result, *, seed: int = 0) -> Comparison:
    """`b` against `a`: rates, outcomes, percentiles from due time, stages, and the server's CPU for each call answered.

    Intervals are from a block bootstrap over windows (`bootstrap.redrawn`), the two runs drawn independently, and
    percentiles of the drawn windows' histograms put together. A percentile's interval is widened by a bucket's width.
    `answered` counts by due time, whenever the answer came. Calls served before the schedule ended, stage means and CPU
    are one number a run: they are shown, not judged. The same seed gives the same answer.
    """
    generator = np.random.default_rng(seed)
    samples = [sample_of(result) for result in (a, b)]
    judged = min(map(len, samples)) >= WINDOWS
    runs = [(sample, redrawn(len(sample), generator)) for sample in samples if len(sample)]
    rows = [_row(number, runs, judged=judged) for number in _numbers(a, b)] if len(runs) == 2 else []
    rows.append(_unjudged("served within the schedule", "calls/s", a.served, b.served))
    rows += _stage_rows(a, b)
    rows += _cpu_row(a, b)
    few = () if judged else (f"fewer than {WINDOWS} windows in a run: nothing is judged",)
    return Comparison(_name(a), _name(b), tuple(rows), (*_mismatches(a, b), *few))


@dataclass(frozen=True, slots=True)
class Number:
    """A number that windows hold, and which way it should go."""

    name: str
    unit: Unit
    better: Better
    of: Statistic


def _numbers(a: Result, b: Result) -> list[Number]:
    """The numbers that windows hold; outcomes that neither run had are left out, but for ok."""
    seen = [name for name in OUTCOMES if name == "ok" or any(result.outcomes.get(name, 0) for result in (a, b))]
    return [
        Number("offered", "calls/s", "neither", lambda sample, weights: sample.rate(sample.offered, weights)),
        Number("answered", "calls/s", "higher", _answered),
        *(Number(name, "share", "higher" if name == "ok" else "lower", _share(name)) for name in seen),
        *(Number(f"{name} latency", "s", "lower", _quantile(q)) for name, q in QUANTILES.items()),
    ]


def _answered(sample: Sample, weights: Floats) -> Floats:
    return sample.rate(sample.outcomes["ok"] + sample.outcomes["degraded"], weights)


def _share(name: Outcome) -> Statistic:
    return lambda sample, weights: sample.share(sample.outcomes[name], weights)


def _quantile(q: float) -> Statistic:
    return lambda sample, weights: sample.quantile(q, weights)


def _row(number: Number, runs: list[tuple[Sample, Floats]], *, judged: bool) -> Row:
    (a, b), (low, high) = both(number.of, runs)
    if number.unit == "s":
        widest = BUCKET * max(a, b)
        low, high = low - widest, high + widest
    if not judged:
        low = high = math.nan
    return Row(number.name, number.unit, a, b, low, high, _judgement(low, high, number.better))


def _judgement(low: float, high: float, better: Better) -> Judgement:
    if not (math.isfinite(low) and math.isfinite(high)):
        return "not judged"
    if low <= 0 <= high:
        return "no difference seen"
    if better == "neither":
        return "different"
    return "better" if (low > 0) == (better == "higher") else "worse"


def _stage_rows(a: Result, b: Result) -> list[Row]:
    """Means of the stages of either run, in the order of the first."""
    means = [{stage.name: stage.mean for stage in result.stages} for result in (a, b)]
    names = dict.fromkeys([*means[0], *means[1]])
    return [_unjudged(f"stage {name}, mean", "s", *(found.get(name, math.nan) for found in means)) for name in names]


def _cpu_row(a: Result, b: Result) -> list[Row]:
    each = [_cpu(result) for result in (a, b)]
    return [_unjudged("server CPU for each call answered", "s", *each)] if any(map(math.isfinite, each)) else []


def _cpu(result: Result) -> float:
    answered = result.outcomes.get("ok", 0) + result.outcomes.get("degraded", 0)
    return result.server_seconds / answered if result.server_seconds is not None and answered else math.nan


def _unjudged(name: str, unit: Unit, a: float, b: float) -> Row:
    return Row(name, unit, a, b, math.nan, math.nan, "not judged")


_LOAD = "load before"
"""Differs from run to run on one machine."""


def _mismatches(a: Result, b: Result) -> list[str]:
    found = [
        f"{name} differs: {ours!r} against {theirs!r}"
        for name, ours, theirs in (("protocol", a.protocol, b.protocol), ("target", a.target, b.target))
        if ours != theirs
    ]
    for name, ours, theirs in (("plan", a.plan, b.plan), ("environment", a.environment, b.environment)):
        fields = [key for key in dict.fromkeys([*ours, *theirs]) if ours.get(key) != theirs.get(key) and key != _LOAD]
        if fields:
            pairs = (f"{key} ({ours.get(key, NONE)} against {theirs.get(key, NONE)})" for key in fields)
            found.append(f"{name} differs in {', '.join(pairs)}")
    for letter, result in (("A", a), ("B", b)):
        found += [f"{letter}: {check.name}: {check.found}" for check in checks_of(result) if not check.holds]
    return found


def _name(result: Result) -> str:
    return f"{result.target}, {result.started}"


def _cells(row: Row) -> tuple[str, ...]:
    said = SAID[row.unit]
    around = math.isfinite(row.low) and math.isfinite(row.high)
    change = row.difference / row.a if row.a else math.nan
    return (
        row.name,
        said(row.a),
        said(row.b),
        _signed(said, row.difference),
        f"{_signed(said, row.low)} to {_signed(said, row.high)}" if around else NONE,
        _signed(percent, round(change, 3)),
    )


def _signed(said: Callable[[float], str], number: float) -> str:
    text = said(number)
    return f"+{text}" if number > 0 else text
