"""Health tells the truth before, while and after a server serves."""

import asyncio
from threading import Event, Thread

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from navi.server.health import Health
from navi.server.server import SERVICES

SERVING, NOT_SERVING, UNKNOWN = 1, 2, 3


@pytest.mark.parametrize("service", ["", *SERVICES])
def test_each_service_is_serving_once_the_server_is_ready(navi, service):
    with navi.serve(http_address="") as at:
        reply = health_pb2_grpc.HealthStub(at.channel).Check(health_pb2.HealthCheckRequest(service=service), timeout=10)
    assert reply.status == SERVING


def test_a_service_that_there_is_not_is_not_found(navi):
    with navi.serve(http_address="") as at:
        stub = health_pb2_grpc.HealthStub(at.channel)
        with pytest.raises(grpc.RpcError) as error:
            stub.Check(health_pb2.HealthCheckRequest(service="nobody"), timeout=10)
        assert error.value.code() is grpc.StatusCode.NOT_FOUND
        watch = stub.Watch(health_pb2.HealthCheckRequest(service="nobody"), timeout=10)
        assert next(watch).status == UNKNOWN
        watch.cancel()


def test_health_turns_before_the_calls_in_flight_end(navi):
    opened = Event()

    def slow(query):
        opened.wait(20)
        return navi.ranking(query)

    seen, ended = [], Event()
    with navi.serve(navi.pipeline(slow), lame_duck_s=0.2, drain_s=20) as at:
        call = at.start_rank(b"\x20\x01", timeout=20)
        watch = health_pb2_grpc.HealthStub(at.channel).Watch(health_pb2.HealthCheckRequest(), timeout=20)
        assert next(watch).status == SERVING

        def follow():
            seen.extend((reply.status, call.done()) for reply in watch)
            opened.set()
            ended.set()

        follower = Thread(target=follow)
        follower.start()
        navi.eventually(lambda: at.value("navi_in_flight") == 1)
    assert ended.wait(20)
    follower.join()
    assert seen == [(NOT_SERVING, False)]
    assert call.exception(timeout=20) is None


def test_one_watcher_that_leaves_takes_no_other_with_it():
    async def scenario():
        health = Health(["a"])
        request = health_pb2.HealthCheckRequest(service="a")
        first, second = health.Watch(request, None), health.Watch(request, None)
        assert (await anext(first)).status == NOT_SERVING
        assert (await anext(second)).status == NOT_SERVING
        await first.aclose()
        health.set_ready(True)
        assert (await asyncio.wait_for(anext(second), 10)).status == SERVING
        health.close()
        assert [reply.status async for reply in second] == [NOT_SERVING]

    asyncio.run(scenario())
