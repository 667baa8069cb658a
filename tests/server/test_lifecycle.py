"""How a server starts, stops, and meets messages that are too large."""

import signal
import subprocess
import sys
from threading import Event

import grpc
import pytest

from navi.client import Client
from navi.core import errors
from navi.server.serve import running_server
from navi.server.server import Server
from navi.server.settings import ServerSettings

PROGRAM = """
import sys
import time
from navi.core.errors import InvalidArgument
from navi.server.serve import serve
from navi.server.server import Server
from navi.server.settings import ServerSettings

class Slow:
    name = "slow"
    def rank_many(self, queries):
        print("working", flush=True)
        time.sleep(0.5)
        return [InvalidArgument("k", "was worked on")]

settings = ServerSettings(address="127.0.0.1:0", http_address="", max_connection_age_s=0)
serve(Server(settings, {"slow": Slow()}, {}), lambda ports: print(ports.grpc, flush=True))
print("stopped", flush=True)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_calls_in_flight_end_and_the_process_ends_well(number):
    process = subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True)
    with process, grpc.insecure_channel(f"127.0.0.1:{process.stdout.readline().strip()}") as channel:
        call = channel.unary_unary("/navi.v1.RankingService/Rank").future(b"\x20\x01", timeout=20)
        assert process.stdout.readline() == "working\n"
        process.send_signal(number)
        assert call.exception(timeout=20).details() == "k: was worked on"
        assert process.stdout.read() == "stopped\n"
    assert process.returncode == 0


@pytest.mark.parametrize("name", ["address", "http_address"])
def test_an_address_that_is_taken_is_told_by_its_setting(navi, name):
    with navi.serve() as at:
        taken = {"address": at.target, "http_address": at.http.removeprefix("http://")}[name]
        second = ServerSettings(**{"address": "127.0.0.1:0", "http_address": "127.0.0.1:0", name: taken})
        with pytest.raises(errors.ConfigError, match=f"^{name}: cannot listen on {taken}"):
            with running_server(Server(second, {}, {})):
                pytest.fail("a second server must not start")
        assert at.client.rank()


def test_a_call_that_outlasts_the_drain_is_cancelled(navi):
    ended = []

    def endless(query):
        while not query.deadline.cancelled:
            Event().wait(0.005)
        ended.append(query)
        raise errors.Cancelled("the caller went away")

    settings = ServerSettings(address="127.0.0.1:0", http_address="", max_connection_age_s=0)
    server = Server(settings, {"home": navi.pipeline(endless)}, {})
    with running_server(server, grace_s=0.1) as ports:
        channel = grpc.insecure_channel(f"127.0.0.1:{ports.grpc}")
        call = channel.unary_unary("/navi.v1.RankingService/Rank").future(b"\x20\x01", timeout=20)
        navi.eventually(lambda: server.registry.get_sample_value("navi_in_flight") == 1)
    assert call.exception(timeout=20) is not None
    navi.eventually(lambda: len(ended) == 1)
    channel.close()


def test_a_stopped_server_is_unavailable(navi):
    with navi.serve(http_address="") as at:
        client = Client(at.target, timeout_s=5)
        client.rank()
    with client, pytest.raises(errors.Unavailable):
        client.rank()
    with Client("127.0.0.1:1") as nobody, pytest.raises(errors.Unavailable, match="not ready within"):
        nobody.wait_ready(0.2)


def test_a_message_that_is_too_large_is_not_taken_for_overload(navi):
    with navi.serve(http_address="", max_message_bytes=10_000) as at:
        with pytest.raises(errors.InvalidArgument, match="larger than max") as error:
            at.client.rank(exclude=range(2_000))
        assert error.value.field == "message"
        assert len(at.client.rank(exclude=range(1_000)).ids) == 3


def test_a_reply_that_is_too_large_for_the_client_is_told(navi):
    big = navi.pipeline(lambda query: navi.ranking(query, source_names=("x" * 5_000,)))
    with navi.serve(big, http_address="") as at, Client(at.target, max_message_bytes=4_000) as client:
        with pytest.raises(errors.InvalidArgument, match="larger than max"):
            client.rank()


def test_a_large_message_is_fine_by_default(navi):
    pipeline = navi.pipeline()
    with navi.serve(pipeline, http_address="") as at:
        at.client.rank(exclude=range(1_000_000))
    assert len(pipeline.queries[0].exclude) == 1_000_000
