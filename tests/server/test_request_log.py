"""The log of answers: whole files, one schema a pipeline, and never at a call's cost."""

from threading import Event

import numpy as np
import pyarrow.parquet as pq
import pytest

from navi.client import Client
from navi.core import Column, errors
from navi.core.ids import Ids
from navi.core.ranking import Served
from navi.server.request_log import chosen

FEATURES = {"hour": 5, "device": "tv", "words": ["x", "y"]}


def served(items):
    """What a funnel would tell of these items."""
    n = len(items)
    return Served(
        user={"age": np.array([30], dtype=np.float32), "recent": np.array([7, 8, 9])},
        items={
            "price": Column(np.arange(n, dtype=np.float32), valid=np.arange(n) > 0),
            "tags": Column(np.array(["a", "b", "c"], dtype=object), np.array([0, 2, 2, 3][: n + 1])),
            "place": Column(np.arange(2 * n, dtype=np.float32).reshape(n, 2)),
        },
        propensities=np.full(n, 0.5, dtype=np.float32),
    )


@pytest.fixture
def pipeline(navi):
    return navi.pipeline(lambda query: navi.ranking(query, served=lambda: served(range(min(query.k, 3)))))


def rows(directory):
    """All rows, by the order of files."""
    files = sorted(directory.rglob("*.parquet"))
    return [row for file in files for row in pq.read_table(file).to_pylist()]


def test_a_row_says_what_was_served_and_how(navi, pipeline, tmp_path):
    with navi.serve(pipeline, request_log=str(tmp_path)) as at:
        with Client(at.target, timeout_s=20, caller="feed") as client:
            client.rank("u1", k=2, request_id="r1", as_of=12.5, seed=7, features=FEATURES)
        assert at.client.score([1, 2]), "is not logged"
    first, second = rows(tmp_path / "home")
    assert first.pop("time").timestamp() > 1e9
    assert first == {
        "request_id": "r1",
        "as_of": 12.5,
        "pipeline": "home",
        "caller": "feed",
        "user": "u1",
        "k": 2,
        "seed": 7,
        "sample_rate": 1.0,
        "degraded": ["rerank: late"],
        "model.ranker": "1",
        "user.age": [30.0],
        "user.recent": [7, 8, 9],
        "request.hour": [5],
        "request.device": ["tv"],
        "request.words": ["x", "y"],
        "item": 100,
        "position": 0,
        "score": 1.0,
        "task.click": 0.5,
        "sources": ["popular"],
        "propensity": 0.5,
        "item.price": None,
        "item.tags": ["a", "b"],
        "item.place": [0.0, 1.0],
    }
    assert (second["item"], second["position"], second["score"]) == (101, 1, 0.0)
    assert (second["item.price"], second["item.tags"], second["item.place"]) == (1.0, [], [2.0, 3.0])


def test_a_file_is_written_when_it_is_full_or_old_or_the_server_stops(navi, pipeline, tmp_path):
    with navi.serve(pipeline, request_log=str(tmp_path / "full"), request_log_rows=6) as at:
        for _ in range(3):
            at.client.rank(k=3)
        navi.eventually(lambda: at.value("navi_recorded_calls_total", kind="log") == 2)
        assert len(rows(tmp_path / "full")) == 6
    assert len(rows(tmp_path / "full")) == 9
    with navi.serve(pipeline, request_log=str(tmp_path / "old"), request_log_s=0.01) as at:
        at.client.rank(k=3)
        navi.eventually(lambda: len(rows(tmp_path / "old")) == 3)


def test_a_pipelines_files_have_one_schema_that_grows(navi, pipeline, tmp_path):
    with navi.serve({"a/b": pipeline, "c": pipeline}, request_log=str(tmp_path)) as at:
        at.client.rank(pipeline="a/b", k=1)
        at.client.rank(7, pipeline="a/b", k=1, features={"hour": 5})
        at.client.rank(8, pipeline="a/b", k=1)
        at.client.rank(pipeline="c", k=1)
    [file] = (tmp_path / "a%2Fb").iterdir()
    logged = pq.read_table(file).to_pylist()
    assert [row["user"] for row in logged] == [None, 7, 8]
    assert [row["request.hour"] for row in logged] == [None, [5], None]
    assert "request.hour" not in pq.read_schema(next((tmp_path / "c").iterdir())).names


def test_a_column_that_changes_its_type_begins_a_new_file(navi, pipeline, tmp_path):
    with navi.serve(pipeline, request_log=str(tmp_path)) as at:
        at.client.rank(7, k=1)
        at.client.rank("seven", k=1)
    assert len(list(tmp_path.rglob("*.parquet"))) == 2
    assert [row["user"] for row in rows(tmp_path)] == [7, "seven"]


def test_the_share_is_chosen_by_the_request_id(navi, pipeline, tmp_path):
    ids = [f"r{number}" for number in range(40)]
    with navi.serve(pipeline, request_log=str(tmp_path), request_log_share=0.5) as at:
        for name in ids:
            at.client.rank(k=1, request_id=name)
    assert {row["request_id"] for row in rows(tmp_path)} == {name for name in ids if chosen(name, 0.5)}
    assert rows(tmp_path)[0]["sample_rate"] == 0.5
    many = sum(chosen(str(number), 0.1) for number in range(20_000))
    assert 1800 < many < 2200
    assert not any(chosen(str(number), 0.0) for number in range(100))


def test_an_answer_that_cannot_tell_what_it_served_is_counted_and_sent(navi, tmp_path):
    def broken():
        raise RuntimeError("the table is gone")

    with navi.serve(navi.pipeline(lambda query: navi.ranking(query, served=broken)), request_log=str(tmp_path)) as at:
        assert at.client.rank()
        navi.eventually(lambda: at.value("navi_recording_dropped_total", kind="log") == 1)
    assert rows(tmp_path) == []


def test_a_directory_that_cannot_be_written_fails_no_call(navi, pipeline, tmp_path, caplog):
    directory = tmp_path / "log"
    with navi.serve(pipeline, request_log=str(directory), request_log_rows=1) as at:
        (directory / "home").write_text("in the way")
        for _ in range(3):
            assert at.client.rank()
        navi.eventually(lambda: at.value("navi_recording_dropped_total", kind="log") == 3)
        (directory / "home").unlink()
        assert at.client.rank()
        navi.eventually(lambda: at.value("navi_recorded_calls_total", kind="log") == 1)
    assert sum("cannot be logged" in record.getMessage() for record in caplog.records) == 1
    assert not list(directory.rglob("*.tmp"))


def test_a_log_that_does_not_keep_up_loses_answers_and_counts_them(navi, tmp_path):
    go_on = Event()

    def slow():
        assert go_on.wait(20)
        return served(range(1))

    with navi.serve(navi.pipeline(lambda query: navi.ranking(query, served=slow)), request_log=str(tmp_path)) as at:
        for _ in range(260):
            at.client.rank(k=1)
        assert 0 < at.value("navi_recording_dropped_total", kind="log") <= 4
        go_on.set()


def test_a_log_that_cannot_be_made_keeps_the_server_from_starting(navi, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(errors.ConfigError, match="request_log"), navi.serve(request_log=str(tmp_path / "file" / "x")):
        pass


def test_text_ids_are_text(navi, tmp_path):
    texts = Ids.of(["x", "é", "z"])
    with navi.serve(navi.pipeline(lambda query: navi.ranking(query, ids=texts)), request_log=str(tmp_path)) as at:
        at.client.rank(k=3)
    assert [row["item"] for row in rows(tmp_path)] == ["x", "é", "z"]
    assert rows(tmp_path)[0]["propensity"] is None
