"""The funnel as a yardstick: stage times, what its coarse cut costs in recall, and latency against the model alone."""

import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np

from navi.bench.bare_run import BareRun, bare_run
from navi.bench.measurement import Measure, of_runs
from navi.bench.placement import Placement
from navi.bench.processes import pinned
from navi.bundle.bundle import Bundle
from navi.cli.offline import default_pipeline
from navi.client import Client
from navi.core.errors import NaviError
from navi.core.pipeline import Pipeline
from navi.core.query import Query
from navi.core.ranking import Ranking
from ranking.evaluation.asking import Asker, asker_of, known_users
from ranking.evaluation.serving import Serving, serving
from ranking.funnel import build

WARM_UP = 5
RANKER = "ranker"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """runs of `requests` for the best `k` each, for other users in every run. seconds: of the bare runtime's loops."""

    runs: int
    requests: int
    k: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _InProcess:
    """One run without a server. micros: median by stage. seconds: median of all. recall: mean."""

    micros: dict[str, float]
    seconds: float
    recall: float
    merged: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Served:
    """One run over gRPC. took: seconds of each call. cpu_seconds: of the server, a call."""

    took: Sequence[float]
    cpu_seconds: float


def measure(path: Path, pipeline: str | None, options: Options) -> tuple[list[Measure], list[str]]:
    """Of a bundle that `navi bench bundle funnel` made: the rows for the bare runtime lie beside it."""
    place = Placement.here()
    with pinned(place.server), Bundle.open(path) as bundle:
        name = default_pipeline(bundle, pipeline)
        asker, queries = asker_of(path, name), _queries(bundle, path, name, options)
        alone = [_in_process(bundle, name, some, options.k) for some in queries]
        items = len(bundle.table(bundle.config.pipelines[name].options["table"]))
    inputs, model = next((path / "bench").glob(f"{RANKER}-*.inputs.npz")), path / "bench" / f"{RANKER}.onnx"
    pairs: list[tuple[_Served, BareRun]] = []
    with serving(path, core=place.server) as server, pinned(place.load):
        for some in queries:
            served = _served(server, asker, some)
            pairs.append((served, bare_run(model, inputs, core=place.server, seconds=options.seconds)))
    notes = [*place.notes, f"{items:,} items; {options.requests} requests a run, k = {options.k}, one after another"]
    return [*_alone(alone), *_beside(pairs)], notes


def _queries(bundle: Bundle, path: Path, name: str, options: Options) -> list[list[Query]]:
    """Those of each run."""
    asker = asker_of(path, name)
    users = known_users(bundle, name, options.runs * options.requests)
    made = [asker.query(users[at % len(users)], options.k) for at in range(options.runs * options.requests)]
    return [made[start : start + options.requests] for start in range(0, len(made), options.requests)]


def _in_process(bundle: Bundle, name: str, queries: Sequence[Query], k: int) -> _InProcess:
    """The exhaustive answer is the pipeline's own without its coarse stage: every merged candidate is scored again."""
    options = dict(bundle.config.pipelines[name].options)
    del options["coarse"]
    pipeline = bundle.pipelines[name]
    for query in queries[:WARM_UP]:
        _rank(pipeline, query)
    answers, took = [], []
    for query in queries:
        started = time.perf_counter()
        answers.append(_rank(pipeline, query))
        took.append(time.perf_counter() - started)
    with closing(build(bundle, f"{name}/exhaustive", options)) as exhaustive:
        whole = [_rank(exhaustive, query) for query in queries]
    spent: dict[str, list[float]] = defaultdict(list)
    for answer in answers:
        for stage in answer.stages:
            spent[stage.name].append(stage.microseconds)
    return _InProcess(
        micros={stage: median(micros) for stage, micros in spent.items()},
        seconds=median(took),
        recall=float(np.mean([_recall(a, b, k) for a, b in zip(answers, whole, strict=True)])),
        merged=median([_merged(answer) for answer in answers]),
    )


def _recall(answer: Ranking, whole: Ranking, k: int) -> float:
    """Share of the exhaustive answer's first k that the answer has."""
    best = whole.ids.values[:k]
    return float(np.isin(best, answer.ids.values[:k]).mean()) if len(best) else 1.0


def _merged(answer: Ranking) -> int:
    return next(stage.rows_out for stage in answer.stages if stage.name == "blend")


def _served(server: Serving, asker: Asker, queries: Sequence[Query]) -> _Served:
    features = dict(asker.features)
    with Client(server.address, timeout_s=30.0) as client:

        def ask(query: Query) -> float:
            started = time.perf_counter()
            client.rank(query.user, k=query.k, pipeline=query.pipeline, features=features, as_of=asker.as_of)
            return time.perf_counter() - started

        for query in queries[:WARM_UP]:
            ask(query)
        before = server.cpu_seconds()
        took = [ask(query) for query in queries]
        return _Served(took=took, cpu_seconds=(server.cpu_seconds() - before) / len(queries))


def _alone(runs: Sequence[_InProcess]) -> list[Measure]:
    stages, recall = list(runs[0].micros), [run.recall for run in runs]
    return [
        of_runs(("answers", "recall of the exhaustive re-rank"), "share", recall, aim=">= 95 %", headline=True),
        of_runs(("answers", "candidates after merging"), "items", [run.merged for run in runs]),
        *(of_runs(("stages", stage), "us", [run.micros.get(stage, 0.0) for run in runs]) for stage in stages),
        of_runs(("stages", "all, in process"), "us", [run.seconds * 1e6 for run in runs], headline=True),
    ]


def _beside(pairs: Sequence[tuple[_Served, BareRun]]) -> list[Measure]:
    group = "Rank over gRPC, one caller"
    quantiles = [np.quantile(served.took, (0.5, 0.99)) for served, _ in pairs]
    p50, p99 = ([values[at] for values in quantiles] for at in (0, 1))
    bare = [run for _, run in pairs]
    rows = bare[0].rows // bare[0].runs
    alone = f"bare runtime on {rows} rows"
    return [
        of_runs((group, "p50"), "ms", [value * 1e3 for value in p50], headline=True),
        of_runs((group, "p99"), "ms", [value * 1e3 for value in p99], headline=True),
        of_runs((group, "server CPU a call"), "ms", [served.cpu_seconds * 1e3 for served, _ in pairs], headline=True),
        of_runs((alone, "p50"), "ms", [run.p50 * 1e3 for run in bare]),
        of_runs((alone, "p99"), "ms", [run.p99 * 1e3 for run in bare], headline=True),
        of_runs((alone, "p99 of Rank / its p99"), "x", [a / b.p99 for a, b in zip(p99, bare, strict=True)]),
        of_runs((alone, "CPU a run"), "ms", [run.cpu_seconds * 1e3 / run.runs for run in bare]),
    ]


def _rank(pipeline: Pipeline, query: Query) -> Ranking:
    (answer,) = pipeline.rank_many([query])
    if isinstance(answer, NaviError):
        raise answer
    return answer
