"""How a run stands while it goes on."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from loadtest.messages import Chunk
from loadtest.plan import Plan
from loadtest.records import Calls, Records
from loadtest.result import Outcome

RECENT_S = 3.0
"""What `Progress` calls recent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """elapsed, seconds: of the schedule. offered, served: calls a second, recently. p50, p99: seconds from the due
    time, of recent answers, NaN where there were none. outcomes: since the start."""

    elapsed: float
    seconds: float
    calls: int
    offered: float
    served: float
    p50: float
    p99: float
    outcomes: dict[Outcome, int]


Watch: TypeAlias = Callable[[Progress], None]


def progress_of(records: Records, plan: Plan, elapsed: float) -> Progress:
    since = max(elapsed - RECENT_S, 0.0)
    recent = _ended_since([chunk for _, chunk in records.chunks], since)
    answered = recent.take(recent.answered)
    latency = answered.ended - answered.due
    p50, p99 = np.quantile(latency, [0.5, 0.99]) if len(latency) else (np.nan, np.nan)
    span = max(elapsed - since, 1e-9)
    return Progress(
        elapsed=elapsed,
        seconds=plan.seconds,
        calls=records.calls,
        offered=_due(recent, plan, since, elapsed) / span,
        served=len(latency) / span,
        p50=float(p50),
        p99=float(p99),
        outcomes=records.outcomes,
    )


def _due(recent: Calls, plan: Plan, since: float, until: float) -> int:
    """Calls due; of a closed loop, those sent, as far as they have ended."""
    if plan.closed:
        return int(np.sum(recent.due >= since))
    return int(np.searchsorted(plan.due, until) - np.searchsorted(plan.due, since))


def _ended_since(chunks: Sequence[Chunk], since: float) -> Calls:
    late = [chunk for chunk in chunks if chunk.ended.max() >= since]
    calls = Calls.of(late)
    return calls.take(calls.ended >= since)
