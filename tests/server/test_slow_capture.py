"""Calls that were slow, late or failed are kept in a file that can be asked again; others are not."""

from threading import Event

import pytest

from navi.core import errors
from navi.server.capture import CappedFile, Rate
from navi.server.settings import ServerSettings
from navi.server.watchers import watching
from navi.wire.recorded import read_recorded
from navi.wire.v1 import ranking_pb2

REQUEST = ranking_pb2.RankRequest(k=3, request_id="r1").SerializeToString()
RANK = "/navi.v1.RankingService/Rank"


def recorded(path):
    return list(read_recorded(path))


def test_a_slow_call_is_written_as_it_came(navi, tmp_path):
    file = tmp_path / "made" / "slow.jsonl"
    with navi.serve(slow_ms=0.001, slow_file=str(file)) as at:
        at.channel.unary_unary(RANK)(REQUEST, timeout=5)
        navi.eventually(lambda: at.value("navi_recorded_calls_total", kind="slow") == 1)
    [call] = recorded(file)
    assert (call.method, call.request, call.request_id, call.outcome) == (RANK, REQUEST, "r1", "degraded")
    assert 0 < call.seconds < call.deadline_s < 6
    assert call.at > 1e9


def test_a_written_call_can_be_asked_again(navi, tmp_path):
    pipeline = navi.pipeline()
    with navi.serve(pipeline, slow_ms=0.001, slow_file=str(tmp_path / "slow.jsonl")) as at:
        at.channel.unary_unary(RANK)(REQUEST, timeout=5)
        navi.eventually(lambda: at.value("navi_recorded_calls_total") == 1)
        [call] = recorded(tmp_path / "slow.jsonl")
        at.channel.unary_unary(call.method)(call.request, timeout=call.deadline_s)
    first, second = pipeline.queries[:2]
    assert (first.k, first.request_id) == (second.k, second.request_id)


def test_late_calls_and_faults_are_written_and_what_callers_got_wrong_is_not(navi, tmp_path):
    opened = Event()
    pipelines = {
        "fault": navi.raising(errors.StageError("rerank", "broke")),
        "wrong": navi.raising(errors.InvalidArgument("k", "is odd")),
        "late": navi.pipeline(lambda query: opened.wait(20) and navi.ranking(query)),
    }
    file = tmp_path / "slow.jsonl"
    with navi.serve(pipelines, slow_file=str(file)) as at:
        for name in pipelines:
            with pytest.raises(errors.NaviError):
                at.client.rank(pipeline=name, request_id=name, timeout_s=0.05 if name == "late" else 20)
        navi.eventually(lambda: at.value("navi_recorded_calls_total", kind="slow") == 2)
        opened.set()
    assert {call.request_id: call.outcome for call in recorded(file)} == {"fault": "error", "late": "deadline"}


def test_what_is_over_the_rate_is_counted_and_not_written(navi, tmp_path):
    file = tmp_path / "slow.jsonl"
    with navi.serve(slow_ms=0.001, slow_file=str(file), slow_per_s=0.001) as at:
        for _ in range(4):
            at.client.rank()
        navi.eventually(lambda: at.value("navi_recorded_calls_total", kind="slow") == 1)
        assert at.value("navi_recording_dropped_total", kind="slow") == 3
    assert len(recorded(file)) == 1


def test_the_rate_is_an_average():
    rate = Rate(2.0)
    assert [rate.take(100.0) for _ in range(3)] == [True, True, False]
    assert [rate.take(100.6), rate.take(100.6)] == [True, False]
    assert rate.take(99.0) is False, "a clock that goes back gives nothing"


def test_a_full_file_makes_room_for_a_new_one(tmp_path):
    path = tmp_path / "lines"
    file = CappedFile(path, max_bytes=10)
    for number in range(5):
        file.append(f"abc{number}")
    file.append("longer than the bound")
    file.close()
    assert path.read_text() == "longer than the bound\n"
    assert (tmp_path / "lines.1").read_text() == "abc4\n"
    again = CappedFile(tmp_path / "lines.1", max_bytes=100)
    again.append("x")
    again.close()
    assert (tmp_path / "lines.1").read_text() == "abc4\nx\n", "what is there is gone on with"


def test_each_worker_has_a_file_of_its_own(navi, tmp_path):
    from navi.core.clock import SystemClock
    from navi.server.metrics import Metrics

    settings = ServerSettings(slow_file=str(tmp_path / "slow.jsonl"))
    with watching(settings, Metrics(), SystemClock(), "3"):
        assert (tmp_path / "slow.3.jsonl").exists()


def test_a_disk_that_is_full_fails_no_call(navi, caplog):
    with navi.serve(slow_ms=0.001, slow_file="/dev/full") as at:
        for _ in range(3):
            assert at.client.rank()
        navi.eventually(lambda: at.value("navi_recording_dropped_total", kind="slow") == 3)
    assert sum("slow-call recorder failed" in record.getMessage() for record in caplog.records) == 1


def test_a_file_that_cannot_be_opened_keeps_the_server_from_starting(navi, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(errors.ConfigError, match="slow_file"):
        with navi.serve(slow_file=str(tmp_path / "file" / "slow.jsonl")):
            pass


def test_a_call_without_a_deadline_is_written_with_the_servers(navi, tmp_path):
    with navi.serve(slow_ms=0.001, slow_file=str(tmp_path / "s"), default_deadline_s=7) as at:
        at.channel.unary_unary(RANK)(REQUEST)
        navi.eventually(lambda: at.value("navi_recorded_calls_total") == 1)
    assert recorded(tmp_path / "s")[0].deadline_s == pytest.approx(7, abs=0.5)
