"""Admission: a fixed number of calls in flight, quotas, classes, refusals at once, and no permit is ever lost."""

from dataclasses import dataclass, field
from threading import Event

import grpc
import pytest
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status

from navi.core import errors
from navi.core.priority import Priority

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
        assert at.value("navi_requests_total", method="Rank", pipeline="", code="RESOURCE_EXHAUSTED") == 1


def test_a_connection_has_no_more_calls_at_once_than_it_may(navi, gate, pipeline):
    with navi.serve(pipeline, max_connection_calls=2) as at:
        calls = [at.start_rank(REQUEST, timeout=20) for _ in range(2)]
        navi.eventually(lambda: at.value("navi_in_flight") == 2)
        calls.append(at.start_rank(REQUEST, timeout=20))  # waits at the client
        gate.opened.wait(0.2)
        assert at.value("navi_in_flight") == 2
        gate.opened.set()
        assert settle(calls) == [None, None, None]


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


def test_clients_that_hang_up_in_the_middle_do_no_harm(navi, gate, pipeline):
    with navi.serve(pipeline, threads=2) as at:
        for number in range(1, 21):
            with grpc.insecure_channel(at.target, options=[("grpc.use_local_subchannel_pool", 1)]) as channel:
                call = channel.unary_unary("/navi.v1.RankingService/Rank").future(REQUEST, timeout=20)
                navi.eventually(lambda begun=number: len(pipeline.queries) == begun)
            assert call.done()
            navi.eventually(at.idle)
        gate.opened.set()
        assert settle([at.start_rank(REQUEST, timeout=20) for _ in range(8)]) == [None] * 8


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


def test_a_caller_past_its_quota_is_refused_by_name_and_others_are_not(navi):
    with navi.serve(quotas={"feed": 1.0}) as at:
        feed = at.channel.unary_unary("/navi.v1.RankingService/Rank").with_call
        feed(REQUEST, metadata=(("navi-caller", "feed"),))
        with pytest.raises(grpc.RpcError) as raw:
            feed(REQUEST, metadata=(("navi-caller", "feed"),))
        at.client.rank()
        refused = at.value("navi_refused_total", method="Rank", caller="feed", reason="quota")
    assert raw.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert "'feed' has used up its calls" in raw.value.details()
    assert 0 < int(dict(raw.value.trailing_metadata())["grpc-retry-pushback-ms"]) <= 1000
    assert refused == 1


def test_a_name_with_a_quota_is_known_whatever_names_come_before_it(navi):
    with navi.serve(quotas={"feed": 1.0}, max_callers=0) as at:
        send = at.channel.unary_unary("/navi.v1.RankingService/Rank").with_call
        for caller in ("a", "feed"):
            send(REQUEST, metadata=(("navi-caller", caller),))
        navi.eventually(lambda: at.value("navi_requests_total", caller="feed") == 1)
        assert at.value("navi_requests_total", caller="other") == 1


def test_a_calls_priority_reaches_its_query(navi):
    pipeline = navi.pipeline()
    with navi.serve(pipeline) as at:
        at.client.rank()
        at.client.rank(priority="ads")
        at.client.score([1], priority="backfill")
    assert [query.priority for query in pipeline.queries] == [Priority.ORGANIC, Priority.ADS, Priority.BACKFILL]


def test_an_unknown_priority_is_refused_by_name(navi):
    pipeline = navi.pipeline()
    with (
        navi.serve(pipeline) as at,
        pytest.raises(errors.InvalidArgument, match=r"navi-priority.*ads, organic") as error,
    ):
        at.client.rank(priority="urgent")
    assert error.value.field == "navi-priority"
    assert not pipeline.queries


def test_a_higher_class_is_worked_on_first(navi, gate, pipeline):
    with navi.serve(pipeline, threads=1) as at:
        calls = [at.start_rank(REQUEST, timeout=20)]
        navi.eventually(lambda: len(pipeline.queries) == 1)
        for sent, name in enumerate(("backfill", "organic", "ads"), start=2):
            calls.append(at.start_rank(REQUEST, timeout=20, metadata=(("navi-priority", name),)))
            navi.eventually(lambda sent=sent: at.value("navi_in_flight") == sent)
        gate.opened.set()
        assert settle(calls) == [None] * 4
    assert [query.priority.name for query in pipeline.queries[1:]] == ["ADS", "ORGANIC", "BACKFILL"]


def test_the_lowest_class_leaves_room_for_the_others(navi, gate, pipeline):
    with navi.serve(pipeline, threads=1, max_in_flight=4) as at:
        calls = [at.start_rank(REQUEST, timeout=20) for _ in range(2)]
        navi.eventually(lambda: at.value("navi_in_flight") == 2)
        with pytest.raises(errors.Overloaded, match="of class backfill"):
            at.client.rank(priority="backfill")
        calls.append(at.start_rank(REQUEST, timeout=20))
        gate.opened.set()
        assert settle(calls) == [None] * 3
        assert at.value("navi_refused_total", method="Rank", reason="priority") == 1


def test_a_call_whose_deadline_passes_while_it_waits_is_never_worked_on(navi, gate, pipeline):
    with navi.serve(pipeline, threads=1) as at:
        first = at.start_rank(REQUEST, timeout=20)
        navi.eventually(lambda: len(pipeline.queries) == 1)
        second = at.start_rank(REQUEST, timeout=0.1).exception(timeout=20)
        gate.opened.set()
        assert settle([first]) == [None]
        navi.eventually(at.idle)
        assert second.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        assert at.value("navi_skipped_total", method="Rank") == 1
    assert len(pipeline.queries) == 1


def test_what_calls_take_is_learned_by_method_and_pipeline(navi):
    with navi.serve() as at:
        at.client.rank()
        navi.eventually(lambda: at.value("navi_service_seconds", method="Rank", pipeline="home") > 0)
