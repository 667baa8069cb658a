"""What the server counts of its calls: by whom, how they ended, and what their stages and scores were."""

import dataclasses
import http.client
from threading import Event

import grpc
import numpy as np
import pytest
from prometheus_client.parser import text_string_to_metric_families

from navi.client import Client
from navi.core import Degradation, RowStatus, StageReport, errors

REQUEST = b"\x20\x01"  # RankRequest{k: 1}


def scraped(at):
    connection = http.client.HTTPConnection(at.http.removeprefix("http://"), timeout=10)
    connection.request("GET", "/metrics")
    body = connection.getresponse().read().decode()
    connection.close()
    return {family.name: family for family in text_string_to_metric_families(body)}


def outcomes(at):
    """(outcome, code) -> calls of `Rank`."""
    return {
        (sample.labels["outcome"], sample.labels["code"]): sample.value
        for sample in scraped(at)["navi_requests"].samples
        if sample.name == "navi_requests_total" and sample.labels["method"] == "Rank"
    }


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (errors.InvalidArgument("k", "is odd"), ("invalid", "INVALID_ARGUMENT")),
        (errors.NotFound("user", "u"), ("invalid", "NOT_FOUND")),
        (errors.Overloaded("full", retry_after_s=1), ("shed", "RESOURCE_EXHAUSTED")),
        (errors.Unavailable("loading"), ("unavailable", "UNAVAILABLE")),
        (errors.DeadlineExceeded("late"), ("deadline", "DEADLINE_EXCEEDED")),
        (errors.StageError("rerank", "broke"), ("error", "INTERNAL")),
        (errors.ModelError("old"), ("error", "FAILED_PRECONDITION")),
        (RuntimeError("x"), ("error", "INTERNAL")),
    ],
)
def test_a_call_that_fails_is_counted_by_how_it_ended(navi, error, told):
    with navi.serve(navi.raising(error)) as at:
        with pytest.raises(errors.NaviError):
            at.client.rank()
        assert outcomes(at) == {told: 1}


def test_full_answers_and_degraded_ones_are_told_apart(navi):
    whole = navi.pipeline(lambda query: navi.ranking(query, degradations=()))
    with navi.serve({"whole": whole, "part": navi.pipeline()}) as at:
        at.client.rank(pipeline="whole")
        at.client.rank(pipeline="part")
        at.client.rank(pipeline="part")
        assert outcomes(at) == {("ok", "OK"): 1, ("degraded", "OK"): 2}
        assert at.value("navi_degraded_total", pipeline="part", stage="rerank", reason="late") == 2


def test_shed_late_and_cancelled_calls_are_counted_each_in_its_way(navi):
    opened, asked = Event(), Event()

    def slow(query):
        asked.set()
        opened.wait(20)
        return navi.ranking(query, degradations=())

    with navi.serve(navi.pipeline(slow), max_in_flight=1) as at:
        call = at.start_rank(REQUEST, timeout=20)
        assert asked.wait(20)
        with pytest.raises(errors.Overloaded):
            at.client.rank()
        assert outcomes(at) == {("shed", "RESOURCE_EXHAUSTED"): 1}
        call.cancel()
        navi.eventually(lambda: outcomes(at).get(("cancelled", "CANCELLED")) == 1)
        opened.set()
        navi.eventually(at.idle)
        opened.clear()
        with pytest.raises(errors.DeadlineExceeded):
            at.client.rank(timeout_s=0.05)
        navi.eventually(lambda: outcomes(at).get(("deadline", "DEADLINE_EXCEEDED")) == 1)
        assert at.value("navi_in_flight") == 1, "a thread still works on it"
        opened.set()
        navi.eventually(at.idle)


def test_callers_are_told_apart_up_to_a_bound(navi):
    with navi.serve(max_callers=2) as at:
        for name in ("feed", "ads", "ads", "third", ""):
            with Client(at.target, timeout_s=20, caller=name) as client:
                client.rank()
        for raw in ("Feed", "x" * 41, "a b"):
            at.channel.unary_unary("/navi.v1.RankingService/Rank")(
                REQUEST, metadata=(("navi-caller", raw),), timeout=20
            )
        callers = {
            sample.labels["caller"]: sample.value
            for sample in scraped(at)["navi_requests"].samples
            if sample.name.endswith("_total")
        }
    assert callers == {"feed": 1, "ads": 2, "other": 4, "": 1}


def test_a_client_refuses_a_name_that_metrics_cannot_have():
    with pytest.raises(errors.InvalidArgument, match="caller"):
        Client("localhost:1", caller="My App")


def test_stages_sources_and_drops_are_counted(navi):
    stages = (
        StageReport(name="source.popular", rows_in=0, rows_out=30, microseconds=250),
        StageReport(name="filters", rows_in=30, rows_out=20, microseconds=4000, dropped={"seen": 7, "age": 3}),
    )
    with navi.serve(navi.pipeline(lambda query: navi.ranking(query, stages=stages))) as at:
        for _ in range(2):
            at.client.rank()
        assert at.value("navi_stage_seconds_count", pipeline="home", stage="filters") == 2
        assert at.value("navi_stage_seconds_sum", stage="filters") == pytest.approx(0.008)
        assert at.value("navi_stage_rows_total", stage="filters", direction="in") == 60
        assert at.value("navi_stage_rows_total", stage="filters", direction="out") == 40
        assert at.value("navi_stage_dropped_total", stage="filters", reason="seen") == 14
        assert at.value("navi_source_candidates_total", pipeline="home", source="popular") == 60


def test_the_mean_score_of_each_task_is_told_without_what_is_not_finite(navi):
    tasks = {
        "click": np.array([0.25, 0.75, np.nan], dtype=np.float32),
        "buy": np.full(3, np.nan, dtype=np.float32),
    }
    late = Degradation(stage="rerank", reason="non_finite", detail="", rows=2)
    with navi.serve(navi.pipeline(lambda query: navi.ranking(query, tasks=tasks, degradations=(late,)))) as at:
        at.client.rank()
        at.client.rank(k=5)
        assert at.value("navi_task_score_sum", pipeline="home", task="click") == pytest.approx(1.0)
        assert at.value("navi_task_score_count", pipeline="home", task="click") == 2
        assert at.value("navi_task_score_count", task="buy") == 0
        assert at.value("navi_non_finite_scores_total", pipeline="home") == 4


def test_scores_that_are_not_finite_are_counted_for_score_too(navi):
    def broken(query):
        plain = navi.scores(query)
        status = np.array([RowStatus.OK, RowStatus.NON_FINITE, RowStatus.UNKNOWN_ITEM], dtype=np.uint8)
        return dataclasses.replace(plain, status=status)

    with navi.serve(navi.pipeline(navi.ranking, broken)) as at:
        at.client.score([1, 2, 3])
        assert at.value("navi_non_finite_scores_total", pipeline="home") == 1


def test_every_metric_has_a_help_text_and_a_unit_by_convention(navi):
    with navi.serve() as at:
        at.client.rank()
        families = scraped(at)
    for name, family in families.items():
        if name.startswith("navi_"):
            assert family.documentation.endswith("."), name
            assert family.type in ("counter", "gauge", "histogram", "summary"), name
            assert not name.endswith(("_ms", "_milliseconds", "_us", "_kb", "_mb")), name


def test_a_call_without_a_request_id_gets_one_that_the_reply_carries(navi):
    pipeline = navi.pipeline()
    with navi.serve(pipeline) as at:
        reply = at.channel.unary_unary("/navi.v1.RankingService/Rank")(REQUEST, timeout=20)
        at.client.rank(request_id="mine")
    ids = [query.request_id for query in pipeline.queries]
    assert len(ids[0]) == 12
    assert ids[0].encode() in reply
    assert ids[1] == "mine"


def test_a_call_that_cannot_be_read_is_told_with_the_servers_id(navi):
    with navi.serve() as at:
        with pytest.raises(grpc.RpcError) as raw:
            at.channel.unary_unary("/navi.v1.RankingService/Rank")(b"\xff", timeout=20)
        assert raw.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert b"RequestInfo" in dict(raw.value.trailing_metadata())["grpc-status-details-bin"]
