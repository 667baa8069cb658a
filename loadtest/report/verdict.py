"""What the run says in a sentence, and whether the one who measured can be believed."""

import math
import statistics
from dataclasses import dataclass
from typing import Literal, TypeAlias

from loadtest.histogram import quantile
from loadtest.report.words import count, duration, percent, rate
from loadtest.result import Result

Tone: TypeAlias = Literal["good", "warn", "bad"]

BUSY = 0.7
"""Of one core: a generator above it measures itself as well."""

LATE = 0.001
"""Seconds: sending later than this adds to what the server is charged with."""


BREAKOUT = 10
"""Times the median window's p99: a window above it is not the same run as the others."""


@dataclass(frozen=True, slots=True)
class Check:
    """One condition of trust: what was looked at, what was found, and whether it holds."""

    name: str
    found: str
    holds: bool


@dataclass(frozen=True, slots=True)
class Verdict:
    """tone: of the answers alone. trusted: every check holds."""

    tone: Tone
    headline: str
    sentence: str
    checks: tuple[Check, ...]

    @property
    def trusted(self) -> bool:
        return all(check.holds for check in self.checks)


def verdict_of(result: Result) -> Verdict:
    """The verdict on a result."""
    tone, headline = _headline(result)
    return Verdict(tone, headline, _sentence(result), checks_of(result))


def checks_of(result: Result) -> tuple[Check, ...]:
    """Was all of it sent, by generators with time to spare, when it was due?

    Lateness may be a millisecond, or a tenth of what the server took where that is more, at p50 and at p99.
    """
    busiest = max((generator.cpu_share for generator in result.generators), default=math.nan)
    return (
        Check("Whole schedule run", "yes" if result.complete else "no: ended early", result.complete),
        Check(f"Busiest generator at most {percent(BUSY)} of its core", percent(busiest), busiest <= BUSY),
        _late(result, "p50"),
        _late(result, "p99"),
    )


def worst_window(result: Result) -> tuple[float, float] | None:
    """Start, and p99 from due time in seconds, of the window with the highest; None where no call was answered."""
    found = [(window.start, quantile(window.latency, 0.99)) for window in result.windows if window.latency]
    return max(found, key=lambda pair: pair[1], default=None)


def breakout(result: Result) -> float:
    """The worst window's p99 as a multiple of the median window's; 1 where no call was answered."""
    found = [quantile(window.latency, 0.99) for window in result.windows if window.latency]
    return max(found) / statistics.median(found) if found else 1.0


def _late(result: Result, percentile: str) -> Check:
    late, took = (found.get(percentile, math.nan) for found in (result.lateness, result.service))
    allowed = max(LATE, 0.1 * took) if math.isfinite(took) else LATE
    return Check(
        f"{percentile} lateness of sending at most {duration(allowed, short=True)}", duration(late), late <= allowed
    )


def _headline(result: Result) -> tuple[Tone, str]:
    """The first of these that is true."""
    share = {name: number / max(result.calls, 1) for name, number in result.outcomes.items()}
    degraded, error = share.get("degraded", 0.0), share.get("error", 0.0)
    refused = share.get("shed", 0.0) + share.get("deadline", 0.0)
    answered = share.get("ok", 0.0) + degraded
    slower = breakout(result)
    said: list[tuple[bool, Tone, str]] = [
        (not result.calls, "bad", "No call was made"),
        (not answered, "bad", "No call was answered"),
        (error > 0, "bad", f"Errors: {percent(error)} of calls failed"),
        (refused > 0.01, "bad", f"Overloaded: {percent(answered)} of calls answered"),
        (refused > 0, "warn", f"{percent(refused)} of calls shed or past their deadline"),
        (degraded > 0, "warn", f"Every call answered, {percent(degraded)} of them degraded"),
        (slower >= BREAKOUT, "warn", f"Every call answered in full, but for a while {count(slower)} times slower"),
        (True, "good", "Every call answered in full"),
    ]
    return next((tone, text) for true, tone, text in said if true)


def _sentence(result: Result) -> str:
    if not result.calls:
        return "There is nothing to judge: see the warnings and the plan."
    length = f"{duration(result.seconds, short=True)} ({count(result.calls)} calls)"
    text = f"{rate(result.offered)} calls/s asked for over {length}, {rate(result.served)} calls/s served."
    due, service = result.latency.get("p99", math.nan), result.service.get("p99", math.nan)
    if math.isfinite(due):
        text += f" p99 {duration(due)} from due time, {duration(service)} from sending."
    worst = worst_window(result)
    if worst is not None and len(result.windows) > 1:
        text += f" Worst window: p99 {duration(worst[1])}, at {duration(worst[0], short=True)}."
    return text
