"""A real server on a free port, with a pipeline that answers as the test says."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace

import grpc
import numpy as np
import pytest

from navi.client import Client, Credentials
from navi.core import Degradation, Ids, Query, Ranking, Scores, StageReport
from navi.core.clock import SystemClock
from navi.server.inference.models import Models
from navi.server.metrics import Metrics
from navi.server.serve import running_server
from navi.server.server import Server, Watch
from navi.server.settings import ServerSettings
from navi.server.watchers import watching

STAGES = (StageReport(name="merge", rows_in=7, rows_out=5, microseconds=1500, dropped={"seen": 2}),)
DEGRADATIONS = (Degradation(stage="rerank", reason="late", detail="left out", rows=5),)


def ranking(query: Query, **changes) -> Ranking:
    count = min(query.k, 3)
    plain = {
        "ids": Ids.of(range(100, 100 + count)),
        "scores": np.linspace(1, 0, count, dtype=np.float32),
        "sources": np.ones(count, dtype=np.uint32),
        "source_names": ("popular",),
        "tasks": {"click": np.full(count, 0.5, dtype=np.float32)},
        "stages": STAGES,
        "models": {"ranker": "1"},
        "degradations": DEGRADATIONS,
        "shortfall": {"seen": 2},
        "as_of": query.as_of,
        "seed": query.seed,
    }
    return Ranking(**{**plain, **changes})


def scores(query: Query) -> Scores:
    assert query.supplied is not None
    values = np.arange(len(query.supplied.ids), dtype=np.float32)
    return Scores(
        scores=values,
        tasks={"click": values},
        status=np.zeros(len(values), dtype=np.uint8),
        stages=STAGES,
        models={"ranker": "1"},
        degradations=(),
        as_of=query.as_of,
    )


@dataclass
class FakePipeline:
    """Answers with what the functions make of a query, and remembers the queries."""

    rank: Callable = ranking
    score: Callable = scores
    name: str = "home"
    queries: list[Query] = field(default_factory=list)

    def rank_many(self, queries):
        self.queries += queries
        return [self.rank(query) for query in queries]

    def score_many(self, queries):
        self.queries += queries
        return [self.score(query) for query in queries]

    def close(self):
        pass


def raising(error: BaseException) -> FakePipeline:
    def fail(query):
        raise error

    return FakePipeline(fail, fail)


def eventually(holds: Callable[[], bool], timeout_s: float = 10.0) -> None:
    """Wait until it holds; for what another thread is about to do."""
    until = time.monotonic() + timeout_s
    while not holds():
        assert time.monotonic() < until, "it never came about"
        time.sleep(0.005)


@dataclass
class Running:
    server: Server
    client: Client
    channel: grpc.Channel
    target: str
    http: str

    def value(self, name: str, **labels: str) -> float:
        """The sum of the samples of this name that have these labels, perhaps among others; 0 where there is none."""
        families = self.server.registry.collect()
        samples = [sample for family in families for sample in family.samples if sample.name == name]
        return sum(sample.value for sample in samples if labels.items() <= sample.labels.items())

    def idle(self) -> bool:
        return self.value("navi_in_flight") == 0

    def start_rank(self, request: bytes, **options) -> grpc.Future:
        return self.channel.unary_unary("/navi.v1.RankingService/Rank").future(request, **options)


@contextmanager
def serve(pipelines=None, stores=None, *, more=(), models=None, credentials=None, **settings) -> Iterator[Running]:
    """more: watchers beside those that the settings name. models: a directory of those without a pipeline.

    credentials: of the client and of the channel.
    """
    credentials = credentials or Credentials()
    if not isinstance(pipelines, dict):
        pipelines = {"home": pipelines or FakePipeline()}
    plain = {"address": "127.0.0.1:0", "http_address": "127.0.0.1:0", "threads": 4, "max_connection_age_s": 0}
    chosen = ServerSettings(**{**plain, **settings})
    metrics = Metrics()
    with ExitStack() as after:  # the server stops before its clients close, and calls in flight can end
        watchers = after.enter_context(watching(chosen, metrics, SystemClock()))
        server = Server(chosen, pipelines, stores or {}, watch=Watch(metrics, watchers=(*watchers, *more)))
        if models is not None:
            server = server.serving(models if isinstance(models, Models) else Models(models))
        with running_server(server, grace_s=20) as ports:
            target = f"127.0.0.1:{ports.grpc}"
            client = after.enter_context(Client(target, timeout_s=20, credentials=credentials))
            channel = after.enter_context(credentials.channel(target, ()))
            client.wait_ready(20)
            yield Running(server, client, channel, target, f"http://127.0.0.1:{ports.http}")


@pytest.fixture(scope="session")
def navi():
    """What the tests of this folder build on."""
    return SimpleNamespace(
        serve=serve, pipeline=FakePipeline, raising=raising, ranking=ranking, scores=scores, eventually=eventually
    )
