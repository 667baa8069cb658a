"""What goes wrong ends the run with a message and keeps what was found."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from loadtest.find_max import Search
from loadtest.objective import objective
from loadtest.result import read_result
from navi.wire.recorded import RecordedCall

# In a command and in the processes that it starts, each look at the wall clock is an hour from the last. But for
# gRPC's own: it adds a timeout to the wall clock and takes the clock off again, in C, where this does not reach.
JUMPING = """
import itertools, sys, time
hours, real = itertools.cycle((-3600.0, 3600.0)), time.time
def jumping():
    return real() + (0.0 if sys._getframe(1).f_globals["__name__"].startswith("grpc.") else next(hours))
time.time = jumping
"""


def rank_calls(count: int, gap_s: float, method: str = "/navi.v1.RankingService/Rank") -> list[RecordedCall]:
    return [
        RecordedCall(at=1e9 + number * gap_s, method=method, request=b"", deadline_s=1.0, seconds=0.01, outcome="ok")
        for number in range(count)
    ]


def write_calls(path: Path, calls: list[RecordedCall]) -> Path:
    path.write_text("".join(call.line() + "\n" for call in calls))
    return path


def children_of(pid: int) -> list[int]:
    words = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(word) for word in words if b"multiprocessing-fork" in Path(f"/proc/{word}/cmdline").read_bytes()]


def eventually(what, timeout_s: float = 30.0):
    until = time.monotonic() + timeout_s
    while not (found := what()):
        assert time.monotonic() < until, "it never came about"
        time.sleep(0.02)
    return found


@pytest.fixture
def going(stub, tmp_path):
    """A command in the middle of a long run, and where its result will be."""
    out = tmp_path / "result.json"
    words = ["run", stub, "--rate", "40", "--duration", "60", "--processes", "2", "--out", str(out)]
    command = [sys.executable, "-m", "navi.cli", "loadtest", *words]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    while "ok" not in process.stderr.readline():
        assert process.poll() is None
    yield process, out
    process.kill()
    process.wait()
    process.stderr.close()


def test_an_interrupted_run_keeps_what_it_found(going):
    process, out = going
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=30) == 1
    result = read_result(out)
    assert not result.complete
    assert result.warnings[0] == "interrupted"
    assert 0 < result.calls < 2400
    assert result.seconds < 60


def test_a_client_process_that_dies_ends_the_run_and_the_rest_is_kept(going):
    process, out = going
    victim = eventually(lambda: children_of(process.pid))[0]
    os.kill(victim, signal.SIGKILL)
    assert process.wait(timeout=30) == 1
    result = read_result(out)
    assert not result.complete
    assert f"pid {victim}" in result.warnings[0]
    assert "status -9" in result.warnings[0]
    assert result.calls > 0


def test_nothing_at_the_address_is_told(lt, tmp_path):
    result = lt.run("127.0.0.1:9", connect_s=0.5)
    assert not result.complete
    assert "nothing answers at 127.0.0.1:9" in result.warnings[0]
    assert result.calls == 0
    result.write(tmp_path / "result.json")
    assert not read_result(tmp_path / "result.json").complete


def test_a_run_with_errors_ends_with_status_one_and_is_written(lt, tmp_path):
    out = tmp_path / "result.json"
    with lt.stub(errors=0.3) as address:
        done = lt.command("run", address, "--rate", 40, "--duration", 1, "--shape", "constant", "--out", out)
    assert done.returncode == 1
    assert "INTERNAL: the stub was told to fail" in done.stdout
    result = read_result(out)
    assert result.complete
    assert result.errors == {"INTERNAL: the stub was told to fail": result.outcomes["error"]}


def test_a_rate_that_no_process_can_send_is_told(lt):
    with lt.stub() as address:
        result = lt.run(address, rate=25_000, seconds=3.0, timeout_s=0.2)
    assert not result.complete
    assert any("behind the schedule" in warning for warning in result.warnings)


def test_a_wall_clock_that_jumps_changes_nothing(lt, stub, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(JUMPING)
    out = tmp_path / "result.json"
    words = ("run", stub, "--rate", 40, "--duration", 1, "--shape", "constant", "--out", out)
    done = lt.process(*words, environment={"PYTHONPATH": str(tmp_path)})
    assert done.returncode == 0, done.stderr
    result = read_result(out)
    assert result.outcomes["ok"] == 40
    assert 0.005 <= result.latency["p50"] < 60
    assert result.lateness["max"] < 60


def test_a_recording_is_asked_again_with_its_gaps(lt, stub, tmp_path):
    file = write_calls(tmp_path / "calls.jsonl", [*rank_calls(11, 0.2), *rank_calls(2, 0.1, "/other/Method")])
    out = tmp_path / "result.json"
    done = lt.command("run", stub, "--replay", file, "--speed", 2, "--out", out)
    assert done.returncode == 0, done.error
    result = read_result(out)
    assert result.outcomes["ok"] == 11
    assert result.seconds == pytest.approx(1.0, abs=0.01)
    assert result.plan["calls of other methods"] == 2


@pytest.mark.parametrize(
    ("change", "named"),
    [({"colour": "red"}, ":2: colour"), ({"format": 7}, ":2: format"), ({"request": "?"}, ":2")],
)
def test_a_recording_with_something_unknown_is_refused_by_line_and_field(lt, tmp_path, change, named):
    file = tmp_path / "calls.jsonl"
    first, second = (call.line() for call in rank_calls(2, 0.1))
    file.write_text(first + "\n" + json.dumps({**json.loads(second), **change}) + "\n")
    done = lt.command("run", "127.0.0.1:9", "--replay", file)
    assert done.returncode == 1
    assert named in done.error


def test_a_recording_of_other_methods_is_refused_by_their_names(lt, tmp_path):
    file = write_calls(tmp_path / "calls.jsonl", rank_calls(2, 0.1, "/other/Method"))
    done = lt.command("run", "127.0.0.1:9", "--replay", file)
    assert done.returncode == 1
    assert "holds no call of /navi.v1.RankingService/Rank; it holds /other/Method" in done.error


def test_a_result_of_another_version_is_refused(lt, stub, tmp_path):
    file = tmp_path / "result.json"
    lt.run(stub).write(file)
    file.write_text(file.read_text().replace("navi-loadtest/1", "navi-loadtest/9"))
    done = lt.command("report", file, tmp_path / "report.html")
    assert done.returncode == 1
    assert "written by another version" in done.error
    assert not (tmp_path / "report.html").exists()


def test_a_search_tells_why_it_found_nothing(lt):
    search = Search(lambda rate: lt.run("127.0.0.1:9", rate=rate, connect_s=0.3), objective("p99=50ms", 0.01), print)
    rate, problem = search.run(10.0, 100.0)
    assert rate is None
    assert "nothing answers" in problem
