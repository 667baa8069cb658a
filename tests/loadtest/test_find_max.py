"""The search for the highest rate, against services of a known limit."""

import numpy as np
import pytest

from loadtest.find_max import TOLERANCE, Search
from loadtest.objective import objective
from loadtest.result import OUTCOMES, Generator, Result
from navi.core.errors import InvalidArgument


def result_at(
    rate: float, latency_s: float, *, shed: int = 0, cpu_share: float = 0.2, lateness_s: float = 1e-4
) -> Result:
    """What a run of 100 calls found."""
    percentiles = dict.fromkeys(["p50", "p90", "p95", "p99", "p99.9", "max", "mean"], latency_s)
    return Result(
        target="t",
        protocol="p",
        plan={},
        environment={},
        started="",
        seconds=1.0,
        complete=True,
        offered=rate,
        served=rate,
        outcomes={**dict.fromkeys(OUTCOMES, 0), "ok": 100 - shed, "shed": shed},
        latency=percentiles,
        service=percentiles,
        lateness=dict.fromkeys(percentiles, lateness_s),
        windows=[],
        stages=[],
        connections={},
        generators=[Generator(pid=1, cpu_seconds=1, wall_seconds=1, cpu_share=cpu_share, connections=1, calls=100)],
    )


def service(limit: float, **about):
    """Answers in 10 ms up to the limit, and in a second above it."""
    return lambda rate: result_at(rate, 0.01) if rate <= limit else result_at(rate, 1.0, **about)


def search(probe, first=50.0, highest=10_000.0):
    steps = []
    found = Search(probe, objective("p99=50ms", 0.01), steps.append).run(first, highest)
    return (*found, steps)


@pytest.mark.parametrize("first", [7.0, 100.0, 3000.0])
@pytest.mark.parametrize("limit", [3.0, 137.0, 2222.0])
def test_the_highest_rate_is_found_to_five_per_cent_from_wherever_it_begins(limit, first):
    rate, problem, steps = search(service(limit), first)
    assert not problem
    assert limit / TOLERANCE <= rate <= limit
    assert steps[-1].purpose == "confirm"
    assert not steps[-1].missed


def test_a_rate_that_misses_once_and_meets_again_is_met():
    tried: list[float] = []

    def noisy(rate: float) -> Result:
        tried.append(rate)
        return result_at(rate, 1.0) if tried.count(rate) == 1 else service(500.0)(rate)

    rate, problem, _ = search(noisy)
    assert not problem
    assert 500.0 / TOLERANCE <= rate <= 500.0


def test_a_service_that_misses_at_any_rate_is_told():
    rate, problem, _ = search(service(0.0))
    assert rate is None
    assert problem == "even 1 calls a second miss it: p99 was 1000.0 ms"


def test_a_service_that_meets_the_highest_rate_is_told():
    rate, problem, _ = search(service(np.inf), highest=400.0)
    assert rate == 400.0
    assert "--max-rate" in problem


@pytest.mark.parametrize("about", [{"cpu_share": 0.97}, {"lateness_s": 0.03}])
def test_a_generator_that_gives_out_first_is_told(about):
    rate, problem, _ = search(service(300.0, **about))
    assert rate is not None
    assert problem.startswith("the generator is the limit, not the server")


def test_too_many_refusals_miss_the_objective():
    rate, problem, steps = search(lambda rate: result_at(rate, 0.01, shed=2 if rate > 100 else 1))
    assert not problem
    assert 100 / TOLERANCE <= rate <= 100
    assert any("2.0% of the calls were not answered" in step.missed for step in steps)


def test_a_search_against_a_real_server_ends_with_an_answer_and_its_steps(lt, tmp_path):
    out = tmp_path / "found.json"
    words = ("--find-max", "p50=200ms", "--rate", 25, "--max-rate", 25, "--probe", 0.5, "--out", out)
    with lt.stub() as address:
        done = lt.command("run", address, *words)
    assert done.returncode == 1, "the service is faster than --max-rate, which is no answer"
    assert "raise --max-rate" in done.stdout
    assert '"rate": 25.0' in out.read_text()


@pytest.mark.parametrize("words", ["p99", "p42=5ms", "p99=0ms", "p99=fast", "p99=1.2.3ms"])
def test_words_that_are_no_objective_are_refused(words):
    with pytest.raises(InvalidArgument, match="find-max"):
        objective(words, 0.01)


def test_an_objective_reads_its_unit():
    assert objective("p95=0.5s", 0.0).seconds == 0.5
    assert objective("p99.9=250us", 0.0).seconds == pytest.approx(250e-6)
