"""Several processes behind one port: real ones, killed for real."""

import os
import re
import signal
import socket
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event, Lock, Thread

import grpc
import pytest
from prometheus_client.parser import text_string_to_metric_families

from navi.client import Client

RANK, REQUEST = "/navi.v1.RankingService/Rank", b"\x20\x05"
OPTIONS = [("grpc.use_local_subchannel_pool", 1), ("grpc.enable_retries", 0)]  # connections of their own, no second try


def eventually(holds: Callable[[], object], timeout_s: float = 60.0) -> None:
    until = time.monotonic() + timeout_s
    while not holds():
        assert time.monotonic() < until, "it never came about"
        time.sleep(0.05)


def fetch(served, path: str) -> str:
    with urllib.request.urlopen(f"http://{served.http_address}{path}", timeout=10) as reply:
        return reply.read().decode()


def value(served, name: str, **labels: str) -> float:
    """The sum of the samples of this name that have these labels, perhaps among others."""
    families = text_string_to_metric_families(fetch(served, "/metrics"))
    samples = [sample for family in families for sample in family.samples if sample.name == name]
    return sum(sample.value for sample in samples if labels.items() <= sample.labels.items())


def workers_of(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in children if "navi.server.worker" in Path(f"/proc/{child}/cmdline").read_text()]


def directory_of(worker: int) -> Path:
    [found] = re.findall(rb"PROMETHEUS_MULTIPROC_DIR=([^\0]+)", Path(f"/proc/{worker}/environ").read_bytes())
    return Path(os.fsdecode(found))


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def ask(address: str) -> str:
    """One call over a connection of its own; OK or what went wrong."""
    with grpc.insecure_channel(address, options=OPTIONS) as channel:
        return outcome(channel)


def outcome(channel: grpc.Channel) -> str:
    error = channel.unary_unary(RANK).future(REQUEST, timeout=20).exception(timeout=30)
    return "OK" if error is None else f"{error.code().name}: {error.details()}"


@contextmanager
def load(address: str, connections: int = 6) -> Iterator[Counter[str]]:
    """Call all the time while the block runs; yields the outcomes, which are complete after it."""
    done, outcomes, lock = Event(), Counter[str](), Lock()

    def run() -> None:
        with grpc.insecure_channel(address, options=OPTIONS) as channel:
            while not done.wait(0.005):
                found = outcome(channel)
                with lock:
                    outcomes[found] += 1

    threads = [Thread(target=run) for _ in range(connections)]
    for thread in threads:
        thread.start()
    try:
        yield outcomes
    finally:
        done.set()
        for thread in threads:
            thread.join()


@pytest.fixture(scope="module")
def pair(trained: Path, serve):
    """Two workers; tests that kill one leave two behind."""
    return serve(trained, "--workers", 2)


def test_workers_share_the_calls_and_their_metrics_add_up(pair) -> None:
    sent = 0

    def both() -> bool:
        nonlocal sent
        sent += 1
        assert ask(pair.address) == "OK"
        return all(value(pair, "navi_worker_requests_total", slot=slot) for slot in "01")

    eventually(both)
    assert len(workers_of(pair.process.pid)) == value(pair, "navi_workers") == 2
    eventually(lambda: value(pair, "navi_requests_total", method="Rank", code="OK") == sent)
    eventually(lambda: value(pair, "navi_request_seconds_count", method="Rank") == sent)
    eventually(lambda: value(pair, "navi_stage_seconds_count", stage="select") == sent)
    assert value(pair, "navi_in_flight") == 0
    for slot in "01":
        resident, own = (value(pair, f"navi_worker_{kind}_bytes", slot=slot) for kind in ("resident", "proportional"))
        assert 0 < own <= resident


def test_the_supervisor_serves_the_page_and_loads_no_model_runtime(pair) -> None:
    assert fetch(pair, "/readyz") == "ready\n"
    assert fetch(pair, "/healthz") == "alive\n"
    assert "user_tower" in fetch(pair, "/")
    maps = Path(f"/proc/{pair.process.pid}/maps").read_text()
    assert not re.search("onnxruntime|lmdb|grpc", maps)


def test_a_write_is_seen_by_the_next_call_to_any_worker(bundle: Path, serve) -> None:
    served = serve(bundle, "--workers", 2)
    with ExitStack() as open_clients:
        # Clients of different options do not share a connection, and so not always a worker.
        sizes = [(1 << 20) + number for number in range(8)]
        clients = [open_clients.enter_context(Client(served.address, max_message_bytes=size)) for size in sizes]
        for hour in range(4):
            clients[hour].upsert([7], {"seen": [[hour]]})
            assert [client.get([7])[0]["seen"].tolist() for client in clients] == [[hour]] * len(clients)
        assert served.stop() == 0


def test_a_killed_worker_is_replaced_and_nothing_that_it_counted_is_lost(pair) -> None:
    before = workers_of(pair.process.pid)
    restarts = value(pair, "navi_worker_restarts_total")
    with load(pair.address) as outcomes:
        eventually(lambda: outcomes["OK"] > 50)
        counted = value(pair, "navi_requests_total", code="OK")
        os.kill(before[0], signal.SIGKILL)
        eventually(lambda: value(pair, "navi_workers") == 1)
        assert fetch(pair, "/readyz") == "ready\n"
        assert value(pair, "navi_requests_total", code="OK") >= counted
        answered = outcomes["OK"]
        eventually(lambda: outcomes["OK"] > answered + 20)  # by the other
        eventually(lambda: value(pair, "navi_workers") == 2)
    after = workers_of(pair.process.pid)
    assert before[1] in after
    assert before[0] not in after
    assert len(after) == 2
    assert value(pair, "navi_worker_restarts_total") == restarts + 1
    assert value(pair, "navi_requests_total", code="OK") >= counted + 20
    assert value(pair, "navi_in_flight") == 0
    assert set(outcomes) - {"OK"} <= {o for o in outcomes if o.startswith("UNAVAILABLE")}


def test_a_worker_that_cannot_start_again_is_tried_until_it_can(bundle: Path, serve) -> None:
    served = serve(bundle, "--workers", 2)
    config, aside = bundle / "navi.toml", bundle / "aside.toml"
    config.rename(aside)
    [victim, _] = workers_of(served.process.pid)
    os.kill(victim, signal.SIGKILL)
    eventually(lambda: value(served, "navi_worker_restarts_total") >= 2)
    assert value(served, "navi_workers") == 1
    assert ask(served.address) == "OK"
    aside.rename(config)
    eventually(lambda: value(served, "navi_workers") == 2)
    assert served.stop() == 0


@pytest.mark.parametrize("workers", [1, 2])
def test_sigterm_under_load_loses_no_call_and_leaves_nothing_behind(trained: Path, serve, workers: int) -> None:
    served = serve(trained, "--workers", workers)
    processes = workers_of(served.process.pid)
    directories = [directory_of(worker) for worker in processes]
    with load(served.address) as outcomes:
        eventually(lambda: outcomes["OK"] > 50)
        assert served.stop() == 0
    assert all("failed to connect" in found for found in outcomes if found != "OK"), outcomes
    assert all(gone(worker) for worker in processes)
    assert not any(directory.exists() for directory in directories)


def test_workers_end_when_their_supervisor_is_killed(trained: Path, serve) -> None:
    served = serve(trained, "--workers", 2)
    workers = workers_of(served.process.pid)
    directory = directory_of(workers[0])
    served.kill()
    eventually(lambda: all(gone(worker) for worker in workers))
    eventually(lambda: not directory.exists())


def test_a_second_signal_ends_all_at_once(bundle: Path, serve) -> None:
    with (bundle / "navi.toml").open("a") as config:
        config.write("lame_duck_s = 600.0\n")
    served = serve(bundle, "--workers", 2)
    workers = workers_of(served.process.pid)
    directory = directory_of(workers[0])
    served.process.send_signal(signal.SIGTERM)
    eventually(lambda: b"not ready" in fetch_any(served, "/readyz"))
    served.process.send_signal(signal.SIGTERM)
    assert served.process.wait(timeout=60) == 128 + signal.SIGTERM
    assert all(gone(worker) for worker in workers)
    assert not directory.exists()


def fetch_any(served, path: str) -> bytes:
    """The body of a reply of any status."""
    try:
        return fetch(served, path).encode()
    except urllib.error.HTTPError as error:
        with error:
            return error.read()


def test_a_port_where_another_server_listens_is_refused(trained: Path, navi) -> None:
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        other.bind(("127.0.0.1", 0))
        other.listen()
        address = f"127.0.0.1:{other.getsockname()[1]}"
        done = navi("serve", trained, "--workers", 2, "--address", address, check=False)
    assert done.returncode == 1
    assert f"ConfigError: address: cannot listen on {address}" in done.stderr


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            'path = "models/ranker/1"\n',
            'path = "models/ranker/1"\nprovider = "cuda"\n',
            "server.workers.*'ranker'.*cuda",
        ),
        ('path = "features/users"\n', "", "server.workers.*'users'"),
        ("popular:popular", "popular:nothing", "ConfigError.*nothing"),  # which only a worker finds out
    ],
)
def test_what_workers_cannot_serve_is_one_clear_error(bundle: Path, navi, old: str, new: str, said: str) -> None:
    config = bundle / "navi.toml"
    assert old in config.read_text()
    config.write_text(config.read_text().replace(old, new))
    ports = ("--address", "127.0.0.1:0", "--http-address", "127.0.0.1:0")
    done = navi("serve", bundle, "--workers", 2, *ports, check=False)
    assert done.returncode == 1
    assert len(re.findall(said, done.stderr)) == 1
    assert "Traceback" not in done.stderr
