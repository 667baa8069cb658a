"""What a run tells, against real stub servers: due times count, outcomes stand apart, nothing is lost."""

import numpy as np
import pytest

from loadtest.counts import counts_of
from loadtest.histogram import merged, quantile
from loadtest.population import population
from loadtest.result import Result, read_result
from loadtest.schedule import schedule
from loadtest.targets.navi_score import NaviScore
from navi.core.errors import InvalidArgument


@pytest.fixture(scope="module")
def steady(stub, lt) -> Result:
    """Forty calls in a second, sent by two processes."""
    return lt.run(stub, processes=2, words={"why": "a test"})


def test_every_call_of_the_schedule_is_made_and_answered_no_sooner_than_the_stub_does(steady):
    assert steady.complete
    assert steady.outcomes == {"ok": 40, "degraded": 0, "shed": 0, "deadline": 0, "error": 0}
    assert steady.latency["p50"] >= steady.service["p50"]
    assert steady.service["p50"] >= 0.005
    assert steady.lateness["p50"] >= 0
    assert steady.offered == pytest.approx(40)


def test_calls_are_dealt_over_processes_and_separate_connections(steady):
    assert steady.connections == {f"{process}/{number}": 5 for process in (0, 1) for number in range(4)}
    assert len({generator.pid for generator in steady.generators}) == 2
    assert sum(generator.calls for generator in steady.generators) == 40


def test_what_the_server_says_of_its_stages_is_read_back(steady):
    (stage,) = steady.stages
    assert (stage.name, stage.calls) == ("stub", 40)
    assert stage.p50 >= 0.005


def test_a_result_reads_back_as_it_was_written(steady, tmp_path):
    steady.write(tmp_path / "result.json")
    assert read_result(tmp_path / "result.json") == steady


def test_windows_hold_the_same_calls_as_the_whole(stub, lt):
    result = lt.run(stub, seconds=2.0)
    assert [window.offered for window in result.windows] == [40, 40]
    whole = merged(window.latency for window in result.windows)
    assert sum(whole.values()) == 80
    assert quantile(whole, 0.5) == pytest.approx(result.latency["p50"], rel=0.012)


def test_a_stalled_server_shows_in_the_percentiles(lt):
    due = schedule("constant", rate=50, seconds=2.5, generator=np.random.default_rng(0))
    with lt.stub(stall_at_s=0.5, stall_s=1.0) as address:
        result = lt.run(address, rate=50, seconds=2.5)
    # Calls due in the first half of the stall waited for half a second at least, however they were measured.
    waited = np.sum((due >= 0.55) & (due < 1.0))
    slow = merged(window.latency for window in result.windows)
    assert result.complete
    assert result.calls == len(due)
    assert sum(count for bucket, count in slow.items() if quantile({bucket: 1}, 1.0) >= 0.45) >= waited
    assert result.latency["max"] >= 0.9
    assert result.latency["p90"] >= 0.4


def test_a_closed_loop_hides_the_stall_that_the_schedule_shows(lt):
    with lt.stub(stall_at_s=0.5, stall_s=1.0) as address:
        result = lt.run(address, seconds=2.5, closed=1)
    slow = merged(window.latency for window in result.windows)
    assert sum(count for bucket, count in slow.items() if quantile({bucket: 1}, 1.0) >= 0.45) == 1
    assert result.latency["max"] >= 0.9


def test_outcomes_stand_apart(lt):
    with lt.stub(shed=0.25, degraded=0.25) as address:
        outcomes = lt.run(address, rate=80).outcomes
    assert outcomes["shed"] > 0
    assert outcomes["degraded"] > 0
    assert outcomes["ok"] > 0
    assert outcomes["error"] == outcomes["deadline"] == 0
    assert sum(outcomes.values()) == 80


def test_a_call_past_its_deadline_is_told_as_such(lt):
    with lt.stub(delay_s=0.4) as address:
        result = lt.run(address, rate=10, timeout_s=0.1)
    assert result.outcomes["deadline"] == 10
    assert np.isnan(result.latency["p50"])


def test_scores_are_asked_for_the_items_given(stub, lt):
    target = NaviScore(items=population("1..1000", field="items"), counts=counts_of("public"))
    result = lt.run(stub, target=target)
    assert (result.protocol, result.outcomes["ok"]) == ("/navi.v1.RankingService/Score", 40)


def test_a_running_server_tells_its_cpu(lt, own_server):
    result = lt.run(own_server.address, server_pid=own_server.pid)
    assert result.server_seconds > 0


def test_progress_is_told_while_it_goes_on(stub, lt):
    told = []
    lt.run(stub, watch=told.append)
    assert told[-1].calls == 40
    assert [progress.elapsed for progress in told] == sorted(progress.elapsed for progress in told)


@pytest.mark.parametrize(
    ("field", "plan"),
    [
        ("processes", {"processes": 0}),
        ("timeout_s", {"timeout_s": 0.0}),
        ("closed", {"closed": -1}),
        ("processes", {"closed": 1, "processes": 2}),
        ("rate", {"due": np.empty(0)}),
        ("server_pid", {"server_pid": 2**22 + 1}),
    ],
)
def test_a_plan_that_cannot_be_run_is_refused_by_name(lt, field, plan):
    with pytest.raises(InvalidArgument) as error:
        lt.run("127.0.0.1:1", **plan)
    assert error.value.field == field
