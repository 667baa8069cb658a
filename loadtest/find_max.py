"""The highest rate at which a service keeps its promise: doubling, then halving the gap in log space."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

from loadtest.messages import BEHIND, INTERRUPTED
from loadtest.objective import Objective
from loadtest.result import Percentiles, Result

TOLERANCE = 1.05
"""The answer lies within this factor below the lowest rate that missed."""

LOWEST = 1.0
"""Calls a second: what fails here fails at any rate."""

TRIES = 2

CONFIRMATIONS = 4
"""Rates, each `TOLERANCE` below the last, of which one must meet the objective again."""

SATURATED = 0.9
"""Share of a core from which a client process cannot send faster."""

LATE_SHARE = 0.25
"""Share of the objective that lateness of sending may take before a miss is the generator's."""

Probe: TypeAlias = Callable[[float], Result]
"""Runs at a rate, in calls a second."""


class Step(BaseModel):
    """One probe. missed: why it misses the objective, empty where it meets it."""

    model_config = ConfigDict(extra="forbid", frozen=True, ser_json_inf_nan="constants")

    rate: float
    purpose: Literal["search", "confirm"]
    offered: float
    served: float
    latency: Percentiles
    lateness: Percentiles
    cpu_share: float
    missed: str


class Found(BaseModel):
    """What a search found. rate: calls a second, None where no rate was confirmed. problem: why it is no answer, empty
    where it is one."""

    model_config = ConfigDict(extra="forbid", frozen=True, ser_json_inf_nan="constants")

    format: Literal["navi-find-max/1"] = "navi-find-max/1"
    objective: str
    target: str
    plan: dict[str, Any]
    environment: dict[str, str]
    rate: float | None
    problem: str
    steps: list[Step]

    def write(self, path: Path) -> None:
        path.write_text(self.model_dump_json(indent=1), encoding="utf-8")


class _Ended(Exception):
    """The search cannot go on; the text says why."""


class Search:
    """Probes until the highest rate that meets the objective is known and has been met once more."""

    def __init__(self, probe: Probe, objective: Objective, told: Callable[[Step], None]) -> None:
        """told: is given every step when it was made."""
        self.steps: list[Step] = []
        self._probe = probe
        self._objective = objective
        self._told = told

    def run(self, first: float, highest: float) -> tuple[float | None, str]:
        """(rate, problem), as `Found` has them. Starts at `first`, never goes above `highest`, both calls a second."""
        try:
            low, high = self._bracket(min(first, highest), highest)
            while high is not None and high / low > TOLERANCE:
                middle = math.sqrt(low * high)
                low, high = (middle, high) if self._meets(middle) else (low, middle)
            rate = self._confirmed(low)
        except _Ended as ended:
            return None, str(ended)
        if limit := self._generator_limit():
            return rate, limit
        return rate, f"even {highest:g} calls a second meet it: raise --max-rate" if high is None else ""

    def _bracket(self, first: float, highest: float) -> tuple[float, float | None]:
        """(a rate that meets it, one that does not); None for the second where even `highest` meets it."""
        low, high = first, first
        if self._meets(first):
            while low < highest:
                high = min(low * 2, highest)
                if not self._meets(high):
                    return low, high
                low = high
            return low, None
        while low > LOWEST:
            low, high = max(low / 2, LOWEST), low
            if self._meets(low):
                return low, high
        raise _Ended(f"even {low:g} calls a second miss it: {self.steps[-1].missed}")

    def _confirmed(self, rate: float) -> float:
        """The rate, or one a little below it, that meets the objective once more."""
        for lower in range(CONFIRMATIONS):
            if self._meets(rate / TOLERANCE**lower, "confirm"):
                return rate / TOLERANCE**lower
        last = self.steps[-1]
        raise _Ended(f"the objective was not met again down to {last.rate:.4g}: {last.missed}; use longer probes")

    def _meets(self, rate: float, purpose: Literal["search", "confirm"] = "search") -> bool:
        """Whether one of `TRIES` probes meets it: a busy machine makes a good rate miss, never a bad one meet."""
        return any(self._try(rate, purpose) for _ in range(TRIES))

    def _try(self, rate: float, purpose: Literal["search", "confirm"]) -> bool:
        result = self._probe(rate)
        step = _step(rate, purpose, result, self._objective.missed(result))
        self.steps.append(step)
        self._told(step)
        if INTERRUPTED in result.warnings:
            raise _Ended(INTERRUPTED)
        if result.calls == 0:
            raise _Ended(step.missed)
        if result.outcomes["error"] == result.calls:
            raise _Ended(f"every call failed: {next(iter(result.errors), 'no text')}")
        return not step.missed

    def _generator_limit(self) -> str:
        """Why the slowest rate that missed says nothing of the server; empty where it does."""
        missed = [step for step in self.steps if step.missed and step.purpose == "search"]
        if not missed:
            return ""
        worst = min(missed, key=lambda step: step.rate)
        late = worst.lateness["p99"] > LATE_SHARE * self._objective.seconds
        if worst.cpu_share <= SATURATED and not late and BEHIND not in worst.missed:
            return ""
        return (
            f"the generator is the limit, not the server: at {worst.rate:.4g} calls a second its busiest process used "
            f"{worst.cpu_share:.0%} of a core and sent {worst.lateness['p99'] * 1e3:.1f} ms late (99th percentile)"
        )


def _step(rate: float, purpose: Literal["search", "confirm"], result: Result, missed: str) -> Step:
    return Step(
        rate=rate,
        purpose=purpose,
        offered=result.offered,
        served=result.served,
        latency=result.latency,
        lateness=result.lateness,
        cpu_share=max((one.cpu_share for one in result.generators), default=0.0),
        missed=missed,
    )
