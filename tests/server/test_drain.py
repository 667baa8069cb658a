"""How a server stops without losing calls."""

import http.client
import time
from threading import Event, Thread

import grpc
import pytest

RANK, REQUEST = "/navi.v1.RankingService/Rank", b"\x20\x01"
ALONE = [("grpc.use_local_subchannel_pool", 1)]  # or channels to one target would share a connection


def readiness(at) -> int:
    connection = http.client.HTTPConnection(at.http.removeprefix("http://"), timeout=10)
    connection.request("GET", "/readyz")
    with connection.getresponse() as reply:
        return reply.status


def test_a_stopping_server_answers_on_open_connections_and_takes_no_new_ones(navi):
    answers = {}

    def ask_while_it_stops(at):
        navi.eventually(lambda: readiness(at) == 503)
        answers["old"] = at.start_rank(REQUEST, timeout=20).exception(timeout=20)
        with grpc.insecure_channel(at.target, options=ALONE) as late:
            answers["new"] = late.unary_unary(RANK).future(REQUEST, timeout=20).exception(timeout=20)
        at.channel.close()
        at.client.close()

    with navi.serve(max_connection_age_s=30) as at:
        assert at.start_rank(REQUEST, timeout=20).exception(timeout=20) is None  # so that it is connected
        asking = Thread(target=ask_while_it_stops, args=(at,))
        asking.start()
        started = time.monotonic()
    asking.join()
    assert answers["old"] is None
    assert answers["new"].code() is grpc.StatusCode.UNAVAILABLE
    assert time.monotonic() - started < 20  # it did not wait for the age of connections that were gone


def test_no_call_is_lost_however_busy_a_server_stops(navi):
    ended, outcomes = Event(), []

    def ask(target):
        with grpc.insecure_channel(target, options=[*ALONE, ("grpc.enable_retries", 0)]) as channel:
            rank = channel.unary_unary(RANK)
            while not ended.is_set():
                error = rank.future(REQUEST, timeout=20).exception(timeout=20)
                outcomes.append(None if error is None else f"{error.code().name}: {error.details()}")
                if error is not None:
                    return

    def slow(query):
        time.sleep(0.002)
        return navi.ranking(query)

    with navi.serve(navi.pipeline(slow), max_connection_age_s=0.5) as at:
        asking = [Thread(target=ask, args=(at.target,)) for _ in range(8)]
        for one in asking:
            one.start()
        navi.eventually(lambda: len(outcomes) > 50)
        at.channel.close()
        at.client.close()
    ended.set()
    for one in asking:
        one.join()
    failed = [outcome for outcome in outcomes if outcome is not None]
    assert len(failed) <= len(asking)
    assert all("failed to connect" in outcome for outcome in failed), failed


@pytest.mark.parametrize("age", [0, 0.4])
def test_a_client_that_stays_connected_does_not_hold_a_server_up(navi, age):
    with navi.serve(max_connection_age_s=age) as at:
        at.client.rank()
        started = time.monotonic()
    assert time.monotonic() - started < 10
