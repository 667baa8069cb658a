"""What a `Rank` call costs the server in CPU, and where it goes."""

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table

from navi.bundle.bundle import Bundle
from navi.cli.offline import default_pipeline
from navi.client import Client
from navi.core.errors import NaviError
from navi.core.pipeline import Pipeline
from navi.core.query import Query
from navi.core.ranking import Ranking
from ranking.evaluation.asking import Asker, asker_of, known_users
from ranking.evaluation.serving import Serving, serving

K = 50
WARM_UP = 20


@dataclass(frozen=True, slots=True)
class CpuClock:
    """A clock that moves only while this process computes, all its threads together."""

    def monotonic(self) -> float:
        return time.process_time()

    def time(self) -> float:
        return time.time()


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """CPU microseconds a call, mean. stages: without RPC. models: of `in_process`, in their runs."""

    stages: Mapping[str, float]
    in_process: float
    models: Mapping[str, float]
    served: float


def report(path: Path, pipeline: str | None, *, requests: int) -> Table:
    """Stages by a CPU clock in one process; the whole by the operating system's account of a server asked over gRPC."""
    costs = measure(path, pipeline, requests=requests)
    table = Table("part", "CPU us a call", "share", title=f"Rank, k = {K}, {requests} calls one after another")
    rows = {**costs.stages, "sources, and what no stage times": costs.in_process - sum(costs.stages.values())}
    rows["RPC front, codecs, threads, idle gaps"] = costs.served - costs.in_process
    for name, micros in rows.items():
        table.add_row(name, f"{micros:,.0f}", f"{micros / costs.served:.1%}")
    table.add_section()
    table.add_row("server, whole process", f"{costs.served:,.0f}", "100.0%")
    for name, micros in costs.models.items():
        table.add_row(f"  of it in runs of {name}", f"{micros:,.0f}", f"{micros / costs.served:.1%}")
    rest = costs.served - sum(costs.models.values())
    table.add_row("  of it not model compute", f"{rest:,.0f}", f"{rest / costs.served:.1%}")
    return table


def measure(path: Path, pipeline: str | None, *, requests: int) -> Costs:
    """The means over `requests` calls for known users, after a few to warm up."""
    with Bundle.open(path, clock=CpuClock()) as bundle:
        name = default_pipeline(bundle, pipeline)
        asker = asker_of(path, name)
        users = known_users(bundle, name, requests)
        queries = [asker.query(users[at % len(users)], K) for at in range(requests)]
        for query in queries[:WARM_UP]:
            _rank(bundle.pipelines[name], query)
        before = _run_seconds(bundle)
        stages, in_process = _in_process(bundle.pipelines[name], queries)
        models = {model: (seconds - before[model]) * 1e6 / requests for model, seconds in _run_seconds(bundle).items()}
    with serving(path) as server:
        served = _served(server, asker, queries)
    return Costs(stages=stages, in_process=in_process, models=models, served=served)


def _in_process(pipeline: Pipeline, queries: Sequence[Query]) -> tuple[dict[str, float], float]:
    """(CPU microseconds by stage, and in all), means over the queries."""
    spent: dict[str, float] = defaultdict(float)
    started = time.process_time()
    for query in queries:
        for stage in _rank(pipeline, query).stages:
            if not stage.name.startswith("source."):  # they overlap: what is not in other stages is theirs
                spent[stage.name] += stage.microseconds
    total = (time.process_time() - started) * 1e6 / len(queries)
    stages = {name: micros / len(queries) for name, micros in spent.items()}
    return stages, total


def _run_seconds(bundle: Bundle) -> dict[str, float]:
    """Seconds that each model's runs have taken so far (wall time of its one thread)."""
    return {name: scorer.stats.run_s for name, scorer in bundle.scorers.items()}


def _served(server: Serving, asker: Asker, queries: Sequence[Query]) -> float:
    with Client(server.address, timeout_s=30.0) as client:

        def ask(query: Query) -> None:
            client.rank(
                query.user, k=query.k, pipeline=query.pipeline, features=dict(asker.features), as_of=query.as_of
            )

        for query in queries[:WARM_UP]:
            ask(query)
        before = server.cpu_seconds()
        for query in queries:
            ask(query)
        return (server.cpu_seconds() - before) * 1e6 / len(queries)


def _rank(pipeline: Pipeline, query: Query) -> Ranking:
    (answer,) = pipeline.rank_many([query])
    if isinstance(answer, NaviError):
        raise answer
    return answer
