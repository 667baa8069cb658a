"""The harness measured by itself: against a server whose delay is known, and one that stalls."""

from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import BaseModel, ConfigDict
from rich.table import Table

from loadtest.progress import Watch
from loadtest.result import Percentiles, Result
from loadtest.run import Plan, run
from loadtest.schedule import schedule
from loadtest.stub.navi_stub import StubSettings, running_stub
from loadtest.targets.navi_rank import NaviRank

STALL_S = 1.0


class Check(BaseModel):
    """rate: calls a second. delay_s: the stub's. steady: the run against a stub that keeps its delay. stalled: the same
    with one stall of a second in its middle. waiting: the stall as callers see it who wait for each answer before they
    send again, which is how a stalled server hides."""

    model_config = ConfigDict(extra="forbid", frozen=True, ser_json_inf_nan="constants")

    format: Literal["navi-loadtest-check/1"] = "navi-loadtest-check/1"
    rate: float
    delay_s: float
    steady: Result
    stalled: Result
    waiting: Result

    def write(self, path: Path) -> None:
        path.write_text(self.model_dump_json(indent=1), encoding="utf-8")


def check(*, rate: float, seconds: float, delay_s: float, processes: int, watch: Watch | None = None) -> Check:
    """All runs, one after the other, each against a stub of its own; evenly spaced calls."""
    due = schedule("constant", rate=rate, seconds=seconds, generator=np.random.default_rng(0))
    closed = max(round(rate * delay_s), processes)

    def measured(stall_s: float, *, callers: int = 0) -> Result:
        words = {"rate": rate, "duration": seconds, "shape": "constant", "delay_ms": delay_s * 1e3, "stall_s": stall_s}
        settings = StubSettings(delay_s=delay_s, stall_at_s=seconds / 2, stall_s=stall_s)
        with running_stub(settings) as address:
            plan = Plan(
                address=address,
                seconds=seconds,
                due=due[:0] if callers else due,
                closed=callers,
                timeout_s=5.0,
                processes=processes,
                protocol="navi-rank",
                words={**words, "closed": callers} if callers else words,
            )
            return run(plan, NaviRank(), watch=watch)

    return Check(
        rate=rate,
        delay_s=delay_s,
        steady=measured(0.0),
        stalled=measured(STALL_S),
        waiting=measured(STALL_S, callers=closed),
    )


def check_table(found: Check) -> Table:
    """What the runs say of the harness, in milliseconds."""
    steady, stalled = found.steady, found.stalled
    title = f"{found.rate:g} calls a second against a stub of {found.delay_s * 1e3:g} ms"
    table = Table("milliseconds", "p50", "p99", "max", title=title)
    for column in table.columns[1:]:
        column.justify = "right"
    overhead = {name: value - found.delay_s for name, value in steady.service.items()}
    table.add_row("error of the schedule (sent late by)", *_three(steady.lateness))
    table.add_row("overhead (service less the delay)", *_three(overhead))
    table.add_row("latency from due time", *_three(steady.latency))
    share = max((one.cpu_share for one in steady.generators), default=0.0)
    table.add_row("busiest client process", f"{share:.0%} of a core", "", "")
    table.add_section()
    table.add_row("one second's stall, from due time", *_three(stalled.latency))
    table.add_row("one second's stall, from sending", *_three(stalled.service))
    table.add_row("one second's stall, callers that wait (closed loop)", *_three(found.waiting.latency))
    return table


def _three(percentiles: Percentiles) -> tuple[str, str, str]:
    return tuple(f"{percentiles[name] * 1e3:.2f}" for name in ("p50", "p99", "max"))  # type: ignore[return-value]
