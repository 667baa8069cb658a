"""From the calls of a run to its result."""

import numpy as np

from loadtest.histogram import PER_OCTAVE
from loadtest.plan import Plan
from loadtest.records import Calls, Records
from loadtest.result import OUTCOMES, Percentiles, Result, Stage, Window
from loadtest.target import Target
from navi.bench.environment import environment
from navi.core.arrays import F64, I64

WINDOWS = 60
BUSY = 0.7
"""Share of a core above which a client process measures its own queue too."""

LATE_S = 0.005
"""99th percentile of lateness above which the schedule was not kept."""

COMMONEST = 10
"""Error texts that are told."""

_QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99.9": 0.999}


def summary(plan: Plan, target: Target, records: Records, *, started: str, elapsed: float) -> Result:
    """elapsed: seconds of the schedule until the last call ended; how much of it was run, where it was broken off."""
    calls = records.table()
    complete = not records.problems
    seconds = plan.seconds if complete else elapsed or plan.seconds
    answered = calls.take(calls.answered)
    lateness = percentiles(np.maximum(calls.sent - calls.due, 0.0))
    return Result(
        target=plan.address,
        protocol=plan.protocol or target.method,
        plan=dict(plan.words),
        environment=environment(),
        started=started,
        seconds=seconds,
        complete=complete,
        offered=len(calls.due) / seconds,
        served=float(np.sum(answered.ended <= seconds)) / seconds,
        outcomes=records.outcomes,
        latency=percentiles(answered.ended - answered.due),
        service=percentiles(answered.ended - answered.sent),
        lateness=lateness,
        windows=windows_of(calls, seconds),
        stages=[_stage(name, values) for name, values in records.stages().items()],
        connections=records.connections(),
        generators=records.generators,
        errors=records.errors(COMMONEST),
        warnings=_warnings(plan, records, lateness),
        server_seconds=records.server_seconds,
    )


def percentiles(seconds: F64) -> Percentiles:
    """Of float64 [calls]; NaN where there are none. A percentile is the least value that its share does not exceed."""
    if not len(seconds):
        return dict.fromkeys([*_QUANTILES, "max", "mean"], np.nan)
    values = np.quantile(seconds, list(_QUANTILES.values()), method="inverted_cdf")
    return {
        **{name: float(value) for name, value in zip(_QUANTILES, values, strict=True)},
        "max": float(seconds.max()),
        "mean": float(seconds.mean()),
    }


def windows_of(calls: Calls, seconds: float) -> list[Window]:
    """Stretches of a second, or of a sixtieth of a long run, by due time."""
    width = max(1.0, seconds / WINDOWS)
    count = max(int(np.ceil(seconds / width)), 1)
    window = np.minimum((calls.due / width).astype(np.int64), count - 1)
    return [_window(calls.take(window == number), number * width, min(width, seconds)) for number in range(count)]


def _window(calls: Calls, start: float, seconds: float) -> Window:
    answered = calls.take(calls.answered)
    return Window(
        start=start,
        seconds=seconds,
        offered=len(calls.due),
        outcomes={name: int(np.sum(calls.outcome == number)) for number, name in enumerate(OUTCOMES)},
        latency=_histogram(answered.ended - answered.due),
        service=_histogram(answered.ended - answered.sent),
    )


def _histogram(seconds: F64) -> dict[int, int]:
    """`histogram.bucket_of` for arrays."""
    buckets: I64 = np.ceil(np.log2(np.maximum(seconds, 1e-6) * 1e6) * PER_OCTAVE).astype(np.int64)
    numbers, counts = np.unique(np.maximum(buckets, 0), return_counts=True)
    return dict(zip(numbers.tolist(), counts.tolist(), strict=True))


def _stage(name: str, seconds: F64) -> Stage:
    p50, p99 = np.quantile(seconds, [0.5, 0.99], method="inverted_cdf")
    return Stage(name=name, calls=len(seconds), mean=float(seconds.mean()), p50=float(p50), p99=float(p99))


def _warnings(plan: Plan, records: Records, lateness: Percentiles) -> list[str]:
    warnings = list(records.problems)
    busiest = max((one.cpu_share for one in records.generators), default=0.0)
    if busiest > BUSY:
        warnings.append(
            f"a client process used {busiest:.0%} of a core: latencies hold its own queue; use more processes"
        )
    if lateness["p99"] > LATE_S:
        warnings.append(
            f"calls were sent late (99th percentile {lateness['p99'] * 1e3:.1f} ms): the schedule was not kept; "
            "latencies count from the due time and hold that delay"
        )
    if 0 < records.distinct < records.calls and not plan.closed:
        warnings.append(f"{records.calls:,} calls were made of {records.distinct:,} different requests")
    return warnings
