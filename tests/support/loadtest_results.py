"""Results of load tests as they might have been: calm, stalled for a second, overloaded, and with nothing in them."""

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loadtest.histogram import bucket_of
from loadtest.result import Generator, Outcome, Percentiles, Result, Stage, Window

Floats = NDArray[np.float64]
NAMES = {"p50": 50.0, "p90": 90.0, "p95": 95.0, "p99": 99.0, "p99.9": 99.9, "max": 100.0}


@dataclass(frozen=True, slots=True)
class Calls:
    """One row a call: when due, its latencies in seconds, and its outcome as a number of `OUTCOMES`."""

    due: Floats
    latency: Floats
    service: Floats
    outcome: NDArray[np.int64]


def calm(*, rate: float = 500, seconds: float = 60, seed: int = 1, slower: float = 1.0) -> Calls:
    """Poisson arrivals, log-normal answers around 5 ms, all of them in full; `slower` stretches every latency."""
    generator = np.random.default_rng(seed)
    count = generator.poisson(rate * seconds)
    due = np.sort(generator.uniform(0, seconds, count))
    drift = 1 + 0.08 * np.sin(due / 7)
    service = slower * drift * (0.003 + generator.lognormal(np.log(0.002), 0.55, count))
    return Calls(due, service + generator.exponential(6e-5, count), service, np.zeros(count, dtype=np.int64))


def stalled(calls: Calls, *, at: float = 20.0, length: float = 1.0) -> Calls:
    """The same, with a server that did nothing for a while: whoever was due then waits for its end."""
    wait = np.where((calls.due >= at) & (calls.due < at + length), at + length - calls.due, 0.0)
    return Calls(calls.due, calls.latency + wait, calls.service + wait, calls.outcome)


def overloaded(calls: Calls, *, start: float = 20.0, seed: int = 3) -> Calls:
    """The same, with two calls in five shed, some late and some degraded from `start` on."""
    generator = np.random.default_rng(seed)
    drawn = generator.choice(4, len(calls.due), p=[0.46, 0.12, 0.36, 0.06])
    outcome = np.where(calls.due >= start, drawn, 0)
    slow = np.where(calls.due >= start, 6.0, 1.0)
    return Calls(calls.due, calls.latency * slow, calls.service * slow, outcome)


def refused(calls: Calls) -> Calls:
    """The same, with an error for every call."""
    return Calls(calls.due, calls.latency, calls.service, np.full(len(calls.due), 4))


def result_of(calls: Calls, *, window: float = 1.0, **changes: object) -> Result:
    """The result that a run with these calls would have left."""
    names: tuple[Outcome, ...] = ("ok", "degraded", "shed", "deadline", "error")
    seconds = float(np.ceil(calls.due[-1])) if len(calls.due) else 0.0
    answered = calls.outcome <= 1
    counts = Counter(names[code] for code in calls.outcome.tolist())
    late = calls.latency - calls.service
    fields: dict[str, object] = {
        "target": "127.0.0.1:9000",
        "protocol": "navi.v1.Ranker/Rank",
        "plan": {"schedule": "poisson", "rate": 500, "seconds": 60, "processes": 2, "candidates": "profile"},
        "environment": {"cpu": "Intel Xeon, 2 cores", "kernel": "Linux 6.1", "python": "3.11.9", "grpcio": "1.81.1"},
        "started": "2026-02-03T10:11:12+00:00",
        "seconds": seconds,
        "complete": True,
        "offered": len(calls.due) / seconds if seconds else 0.0,
        "served": int(answered.sum()) / seconds if seconds else 0.0,
        "outcomes": {name: counts.get(name, 0) for name in names},
        "latency": percentiles(calls.latency[answered]),
        "service": percentiles(calls.service[answered]),
        "lateness": percentiles(late),
        "windows": _windows(calls, window, names),
        "stages": stages(len(calls.due)),
        "connections": {
            f"{at // 8}/{at % 8}": int(len(calls.due) / 16 * (1 + 0.02 * (at % 5 - 2))) for at in range(16)
        },
        "generators": [
            Generator(
                pid=4000 + at, cpu_seconds=share * 60, wall_seconds=60, cpu_share=share, connections=8, calls=15000
            )
            for at, share in enumerate((0.41, 0.38))
        ],
        "server_seconds": 41.5,
    }
    return Result.model_validate({**fields, **changes})


def percentiles(values: Floats) -> Percentiles:
    """As a result names them; empty where there are no values."""
    if not len(values):
        return {}
    found = {name: float(np.percentile(values, q)) for name, q in NAMES.items()}
    return {**found, "mean": float(values.mean())}


def stages(calls: int, *, slower: float = 1.0) -> list[Stage]:
    """The stages of a funnel."""
    means = {"gather": 0.0011, "coarse": 0.0006, "features": 0.0009, "queue": 0.0004, "heavy": 0.0021, "policy": 0.0002}
    return [
        Stage(name=name, calls=calls, mean=mean * slower, p50=mean * 0.9 * slower, p99=mean * 3.1 * slower)
        for name, mean in means.items()
    ]


def nothing() -> Calls:
    """A run that sent no call."""
    empty = np.empty(0)
    return Calls(empty, empty, empty, np.empty(0, dtype=np.int64))


def _windows(calls: Calls, length: float, names: tuple[Outcome, ...]) -> list[Window]:
    windows = []
    for number in range(int(np.ceil(calls.due[-1] / length)) if len(calls.due) else 0):
        inside = (calls.due >= number * length) & (calls.due < (number + 1) * length)
        answered = inside & (calls.outcome <= 1)
        windows.append(
            Window(
                start=number * length,
                seconds=length,
                offered=int(inside.sum()),
                outcomes={name: int((calls.outcome[inside] == code).sum()) for code, name in enumerate(names)},
                latency=Counter(map(bucket_of, calls.latency[answered].tolist())),
                service=Counter(map(bucket_of, calls.service[answered].tolist())),
            )
        )
    return windows
