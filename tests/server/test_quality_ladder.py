"""A server whose answers are late makes them with less work, says so, and recovers."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest
from funnel_fakes import ITEMS, ColumnStage, FunnelMaker

from navi.core.clock import ManualClock
from navi.core.deadline import Deadline
from navi.features.item_table import ItemTable
from navi.features.item_table_writer import write_item_table
from navi.features.memory_store import MemoryStore
from navi.features.schema import FeatureSchema
from navi.server.call import Arrival, Call, Ending
from navi.server.metrics import Metrics
from navi.server.quality import Quality
from navi.server.quality_ladder import QualityLadder
from navi.server.settings import ServerSettings
from ranking.steps import Step

SLOW_S, TARGET_S = 0.3, 0.15


@pytest.fixture
def heavy() -> threading.Event:
    """While it is set, the ranker takes longer than the target."""
    return threading.Event()


@pytest.fixture
def funnel(tmp_path, heavy):
    write_item_table(pa.table({"id": list(range(ITEMS))}), tmp_path / "items.arrow", key="id")

    def score(rows: np.ndarray) -> np.ndarray:
        if heavy.is_set():
            time.sleep(SLOW_S)
        return rows

    users = MemoryStore(FeatureSchema({}))
    maker = FunnelMaker(ItemTable.open(tmp_path / "items.arrow"), users)
    yield maker(
        rerank=Step("rerank", ColumnStage("task.click", score)), combine=Step("combine", ColumnStage("score", score))
    )
    for made in maker.made:
        made.close()


def reasons(answer) -> set[tuple[str, str]]:
    return {(each.stage, each.reason) for each in answer.degradations}


def test_a_slow_pipeline_degrades_says_so_and_recovers(navi, funnel, heavy):
    settings = {"latency_target_ms": TARGET_S * 1000, "latency_percentile": 99}
    with navi.serve({"home": funnel}, **settings) as at, ThreadPoolExecutor(4) as callers:

        def rank(_: int):
            return at.client.rank(k=3, user=1)

        def rounds_until(holds) -> None:
            navi.eventually(lambda: any(holds(answer) for answer in callers.map(rank, range(4))), timeout_s=60)

        assert rank(0).degradations == ()
        heavy.set()
        rounds_until(lambda answer: ("rerank", "overload") in reasons(answer))
        assert at.value("navi_quality", pipeline="home") < 1
        assert at.value("navi_quality_level", pipeline="home") >= 1
        rounds_until(lambda answer: any("the order so far" in each.detail for each in answer.degradations))
        assert at.value("navi_degraded_total", stage="rerank", reason="overload") > 0
        heavy.clear()
        rounds_until(lambda answer: answer.degradations == ())


def test_score_calls_are_not_degraded_and_do_not_count(navi, funnel, heavy):
    heavy.set()
    with navi.serve({"home": funnel}, latency_target_ms=1, latency_percentile=99) as at:
        for _ in range(3):
            assert at.client.score([1, 2, 3], user=1).degradations == ()
        assert at.value("navi_quality", pipeline="home") == 1


def test_without_a_target_there_is_no_ladder(navi):
    pipeline = navi.pipeline()
    with navi.serve(pipeline) as at:
        at.client.rank()
        assert "navi_quality" not in {family.name for family in at.server.registry.collect()}
    assert pipeline.queries[0].effort.level == "full"


def ended(clock: ManualClock, code: str, seconds: float, pipeline: str = "home") -> tuple[Call, Ending]:
    call = Call("/navi.v1.RankingService/Rank", Deadline.never(clock), Arrival.now(clock), pipeline=pipeline)
    clock.advance(seconds)
    return call, Ending(code, "ok", seconds)


def a_ladder(clock: ManualClock, pipelines=("home", "other")) -> dict[str, Quality]:
    settings = ServerSettings(latency_target_ms=100, latency_percentile=99)
    return QualityLadder.of(settings, pipelines, Metrics(), clock)


def test_a_missed_deadline_is_late_only_beyond_the_target():
    for seconds, level in ((0.05, "full"), (0.2, "fewer")):
        clock = ManualClock()
        ladder = a_ladder(clock)
        for _ in range(5):
            ladder.ended(*ended(clock, "DEADLINE_EXCEEDED", seconds))
        assert ladder.qualities["home"].level == level
        assert ladder.qualities["other"].level == "full"


def test_a_call_that_died_in_the_queue_is_late_for_every_pipeline():
    clock = ManualClock()
    ladder = a_ladder(clock)
    for _ in range(5):
        ladder.ended(*ended(clock, "DEADLINE_EXCEEDED", 0.2, pipeline=""))
    assert {quality.level for quality in ladder.qualities.values()} == {"fewer"}


@pytest.mark.parametrize("code", ["INVALID_ARGUMENT", "UNAVAILABLE", "RESOURCE_EXHAUSTED", "INTERNAL"])
def test_failures_say_nothing_of_the_load(code):
    clock = ManualClock()
    ladder = a_ladder(clock)
    for _ in range(50):
        ladder.ended(*ended(clock, code, 0.2))
    assert ladder.qualities["home"].level == "full"
