"""The door: a fixed number of calls in flight, refusals at once, and no permit is ever lost."""

from dataclasses import dataclass, field
from threading import Event

import grpc
import pytest
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status

from navi.core import errors

REQUEST = b"\x20\x01"  # RankRequest{k: 1}


@dataclass
class Gate:
    """Holds every query until it is opened, or until the query's caller is gone."""

    answer: object
    opened: Event = field(default_factory=Event)
    heeds_deadlines: bool = True

    def __call__(self, query):
        while not self.opened.wait(0.005):
            if self.heeds_deadlines:
                query.deadline.check("the gate opened")
        return self.answer(query)


@pytest.fixture
def gate(navi):
    return Gate(navi.ranking)


@pytest.fixture
def pipeline(navi, gate):
    return navi.pipeline(gate)


def settle(calls):
    return [call.exception(timeout=20) for call in calls]


def test_a_call_past_the_cap_is_refused_at_once_and_the_others_end_well(navi, gate, pipeline):
    with navi.serve(pipeline, max_in_flight=3, threads=1, retry_after_s=0.5) as at:
        calls = [at.start_rank(REQUEST, timeout=20) for _ in range(3)]
        navi.eventually(lambda: at.value("navi_in_flight") == 3)
        with pytest.raises(errors.Overloaded, match="3 calls are in flight") as error:
            at.client.rank()
        assert error.value.retry_after_s == 0.5
        assert not any(call.done() for call in calls)
        gate.opened.set()
        assert settle(calls) == [None, None, None]
        navi.eventually(at.idle)
        assert len(at.client.rank(k=1).ids) == 1
        assert at.value("navi_refused_total", method="Rank") == 1
        assert at.value("navi_requests_total", method="Rank", pipeline="", code="RESOURCE_EXHAUSTED") == 1


def test_a_refusal_says_when_to_come_back(navi, gate, pipeline):
    with navi.serve(pipeline, max_in_flight=1) as at:
        call = at.start_rank(REQUEST, timeout=20)
        navi.eventually(lambda: at.value("navi_in_flight") == 1)
        refused = at.start_rank(REQUEST, timeout=20).exception(timeout=20)
        gate.opened.set()
        assert settle([call]) == [None]
    assert refused.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    trailing = dict(refused.trailing_metadata())
    assert trailing["grpc-retry-pushback-ms"] == "100"
    retry = RetryInfo()
    assert any(detail.Unpack(retry) for detail in Status.FromString(trailing["grpc-status-details-bin"]).details)
    assert retry.retry_delay.ToMilliseconds() == 100


def test_a_cancelled_call_is_told_to_the_pipeline_and_gives_its_permit_back(navi, pipeline):
    with navi.serve(pipeline, max_in_flight=4) as at:
        for rounds in range(3):
            calls = [at.start_rank(REQUEST, timeout=20) for _ in range(4)]
            navi.eventually(lambda begun=4 * (rounds + 1): len(pipeline.queries) == begun)
            for call in calls:
                call.cancel()
            navi.eventually(at.idle)
        assert all(query.deadline.cancelled for query in pipeline.queries)
        navi.eventually(lambda: at.value("navi_requests_total", method="Rank", pipeline="home", code="CANCELLED") == 12)


def test_a_call_whose_caller_hangs_up_is_cancelled(navi, pipeline):
    with navi.serve(pipeline) as at:
        with grpc.insecure_channel(at.target, options=[("grpc.use_local_subchannel_pool", 1)]) as channel:
            call = channel.unary_unary("/navi.v1.RankingService/Rank").future(REQUEST, timeout=20)
            navi.eventually(lambda: len(pipeline.queries) == 1)
        navi.eventually(at.idle)
        assert call.done()
        assert pipeline.queries[0].deadline.cancelled


def test_a_call_that_is_cancelled_while_it_waits_is_never_worked_on(navi, gate, pipeline):
    with navi.serve(pipeline, threads=1, max_in_flight=2) as at:
        first = at.start_rank(REQUEST, timeout=20)
        navi.eventually(lambda: len(pipeline.queries) == 1)
        second = at.start_rank(REQUEST, timeout=20)
        navi.eventually(lambda: at.value("navi_in_flight") == 2)
        second.cancel()
        navi.eventually(lambda: at.value("navi_requests_total", method="Rank", pipeline="", code="CANCELLED") == 1)
        gate.opened.set()
        assert settle([first]) == [None]
        navi.eventually(at.idle)
    assert len(pipeline.queries) == 1


def test_a_permit_is_held_for_as_long_as_the_work_goes_on(navi, gate, pipeline):
    gate.heeds_deadlines = False
    with navi.serve(pipeline, max_in_flight=1) as at:
        call = at.start_rank(REQUEST, timeout=20)
        navi.eventually(lambda: len(pipeline.queries) == 1)
        call.cancel()
        navi.eventually(lambda: pipeline.queries[0].deadline.cancelled)
        with pytest.raises(errors.Overloaded):
            at.client.rank()
        gate.opened.set()
        navi.eventually(at.idle)


def test_the_callers_deadline_reaches_the_pipeline_and_gives_the_permit_back(navi, pipeline):
    with navi.serve(pipeline) as at:
        with pytest.raises(errors.DeadlineExceeded):
            at.client.rank(timeout_s=0.1)
        navi.eventually(at.idle)
        navi.eventually(
            lambda: at.value("navi_requests_total", method="Rank", pipeline="home", code="DEADLINE_EXCEEDED") == 1
        )
    assert pipeline.queries[0].deadline.expired


def test_a_call_without_a_deadline_gets_one(navi, gate, pipeline):
    gate.heeds_deadlines = False
    with navi.serve(pipeline, default_deadline_s=0.1) as at:
        with pytest.raises(grpc.RpcError) as raw:
            at.channel.unary_unary("/navi.v1.RankingService/Rank")(REQUEST)
        assert raw.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        assert "before there was an answer" in raw.value.details()
        gate.opened.set()
        navi.eventually(at.idle)


def test_a_deadline_that_is_long_is_not_cut(navi):
    pipeline = navi.pipeline()
    with navi.serve(pipeline, default_deadline_s=0.5) as at:
        at.client.rank(timeout_s=1e6)
    assert pipeline.queries[0].deadline.remaining() > 9e5


def test_failed_calls_give_their_permits_back(navi):
    with navi.serve(navi.raising(RuntimeError("x")), max_in_flight=1) as at:
        for _ in range(5):
            with pytest.raises(errors.FaultError):
                at.client.rank()
            navi.eventually(at.idle)


def test_health_is_answered_while_every_permit_is_taken(navi, gate, pipeline):
    with navi.serve(pipeline, max_in_flight=1) as at:
        call = at.start_rank(REQUEST, timeout=20)
        navi.eventually(lambda: at.value("navi_in_flight") == 1)
        at.client.wait_ready(10)
        gate.opened.set()
        assert settle([call]) == [None]
