"""A real server in its own process, asked by a real client."""

import json
import signal
import subprocess
import threading
import urllib.request
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from navi.core.errors import InvalidArgument, NaviError, NotFound, Unavailable
from navi.core.ranking import RowStatus
from navi.features.item_table import ItemTable


def users_of(bundle: Path, navi: Callable[..., object], count: int) -> list[int]:
    sample = pq.read_table(bundle / "training_rows.parquet", columns=["user"])
    return list(dict.fromkeys(sample.column("user").to_pylist()))[:count]


def test_the_best_k_come_back_with_their_provenance(server, trained: Path, navi) -> None:
    (user,) = users_of(trained, navi, 1)
    with server.client() as client:
        ranking = client.rank(user=user, k=10, features={"hour": 13, "device": "mobile"})
    assert len(ranking.ids) == 10
    assert len(set(ranking.ids.tolist())) == 10
    assert ranking.scores.tolist() == sorted(ranking.scores.tolist(), reverse=True)
    assert set(ranking.tasks) == {"click", "long_read"}
    assert all(ranking.sources_of())
    assert ranking.models == {"ranker": "1", "user_tower": "1"}
    assert ranking.degradations == ()
    assert [stage.name for stage in ranking.stages][-1] == "select"


def test_a_call_is_repeated_exactly(server, trained: Path, navi) -> None:
    (user,) = users_of(trained, navi, 1)
    with server.client() as client:
        first = client.rank(user=user, k=20, as_of=1_700_000_000.0, seed=5)
        second = client.rank(user=user, k=20, as_of=1_700_000_000.0, seed=5)
    assert first.ids == second.ids
    assert first.scores.tobytes() == second.scores.tobytes()


def test_an_unknown_and_an_anonymous_user_are_served(server) -> None:
    with server.client() as client:
        assert len(client.rank(user=-5, k=10).ids) == 10
        assert len(client.rank(k=10).ids) == 10


def test_excluded_items_do_not_come_back(server) -> None:
    with server.client() as client:
        first = client.rank(k=5).ids.tolist()
        second = client.rank(k=5, exclude=first).ids.tolist()
    assert not set(first) & set(second)


def test_an_unknown_supplied_item_is_dropped_and_reported(server, trained: Path) -> None:
    known = ItemTable.open(trained / "tables" / "items.arrow").ids.key(3)
    with server.client() as client:
        ranking = client.rank(k=5, candidates=[known, 1, known])
    supplied = next(stage for stage in ranking.stages if stage.name == "source.supplied")
    assert dict(supplied.dropped) == {"unknown_item": 1, "duplicate": 1}


def test_score_answers_position_for_position(server, trained: Path) -> None:
    ids = ItemTable.open(trained / "tables" / "items.arrow").ids
    with server.client() as client:
        scores = client.score(candidates=[ids.key(4), 1, ids.key(9), ids.key(4)])
    assert scores.status.tolist() == [RowStatus.OK, RowStatus.UNKNOWN_ITEM, RowStatus.OK, RowStatus.OK]
    assert scores.scores[0] == scores.scores[3]
    assert np.isnan(scores.scores[1])


@pytest.mark.parametrize(
    ("asked", "error", "field"),
    [
        ({"pipeline": "nowhere"}, NotFound, "nowhere"),
        ({"k": 0}, InvalidArgument, "k"),
        ({"k": 1_000_000}, InvalidArgument, "k"),
        ({"user": "text"}, InvalidArgument, "user"),
        ({"features": {"mood": 1.0}}, InvalidArgument, "mood"),
        ({"features": {"hour": float("nan")}}, InvalidArgument, "hour"),
        ({"features": {"hour": "late"}}, InvalidArgument, "hour"),
        ({"features": {"hour": np.array([1, 2])}}, InvalidArgument, "hour"),
        ({"exclude": ["text"]}, InvalidArgument, "exclude"),
        ({"candidates": ["text"]}, InvalidArgument, "supplied"),
    ],
)
def test_a_bad_request_is_refused_by_the_name_of_its_field(
    server, asked: dict, error: type[NaviError], field: str
) -> None:
    with server.client() as client:
        with pytest.raises(error, match=field):
            client.rank(**{"k": 5, **asked})
        assert len(client.rank(k=5).ids) == 5


def test_written_features_are_answered_and_used(serve, bundle: Path) -> None:
    served = serve(bundle)
    with served.client() as client:
        first = client.rank(user=123_456_789, k=5)
        client.upsert([123_456_789], {"seen": [first.ids.tolist()]})
        second = client.rank(user=123_456_789, k=5)
        assert not set(first.ids.tolist()) & set(second.ids.tolist())
        assert client.get([123_456_789])[0]["seen"].tolist() == first.ids.tolist()
        with pytest.raises(InvalidArgument, match="nonsense"):
            client.upsert([1], {"nonsense": [1]})
    assert served.stop() == 0


def test_an_acknowledged_write_survives_a_kill(serve, bundle: Path) -> None:
    served = serve(bundle)
    acknowledged: list[int] = []

    def write() -> None:
        with served.client() as client:
            for user in range(10_000, 20_000):
                try:
                    client.upsert([user], {"seen": [[user]]})
                except Unavailable:
                    return
                acknowledged.append(user)

    writer = threading.Thread(target=write)
    writer.start()
    while len(acknowledged) < 50:
        assert writer.is_alive()
    served.kill()
    writer.join(timeout=30)
    with serve(bundle).client() as client:
        rows = client.get(acknowledged)
    assert [None if row is None else row["seen"].tolist() for row in rows] == [[user] for user in acknowledged]


def test_sigterm_answers_what_is_in_flight_and_exits_cleanly(serve, trained: Path) -> None:
    served = serve(trained)
    answers: list[object] = []

    def ask() -> None:
        with served.client() as client:
            while True:
                try:
                    answers.append(client.rank(k=50))
                except Unavailable:
                    return

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    while len(answers) < 20:
        assert all(thread.is_alive() for thread in threads)
    assert served.stop() == 0
    for thread in threads:
        thread.join(timeout=60)
        assert not thread.is_alive()


def test_metrics_and_health_are_served_over_http(server) -> None:
    with server.client() as client:
        client.rank(k=5)
    with urllib.request.urlopen(f"http://{server.http_address}/readyz", timeout=10) as reply:
        assert reply.status == 200
    with urllib.request.urlopen(f"http://{server.http_address}/metrics", timeout=10) as reply:
        text = reply.read().decode()
    for name in (
        "navi_requests_total",
        "navi_stage_seconds_bucket",
        "navi_batch_rows_bucket",
        "navi_model_info",
        "navi_cache_lookups_total",
    ):
        assert name in text


def test_query_prints_a_table_and_json(server, trained: Path, navi) -> None:
    shown = navi("query", "--target", server.address, "-k", 3, "--show", trained, "-f", "hour=9")
    assert "creator" in shown.stdout
    assert "rerank" in shown.stdout
    answer = json.loads(navi("query", "--target", server.address, "-k", 3, "--json").stdout)
    assert len(answer["items"]) == 3


def test_a_second_server_on_the_same_port_is_refused(server, trained: Path, navi) -> None:
    done = navi("serve", trained, "--address", server.address, "--http-address", "", check=False)
    assert done.returncode == 1
    assert "address" in done.stderr


def test_help_loads_no_model_runtime() -> None:
    code = (
        "import sys; sys.argv=['navi','--help']\ntry:\n import navi.cli.main as m; m.main()\nexcept SystemExit: pass\n"
    )
    code += "assert not {'torch','onnxruntime','pyarrow'} & set(sys.modules), sorted(sys.modules)"
    subprocess.run([__import__("sys").executable, "-c", code], check=True, capture_output=True, timeout=60)


def test_sigint_ends_it_too(serve, trained: Path) -> None:
    served = serve(trained)
    served.process.send_signal(signal.SIGINT)
    assert served.process.wait(timeout=30) == 0
