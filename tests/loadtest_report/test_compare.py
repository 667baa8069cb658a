"""A comparison tells what differs from what does not, and says where it cannot tell."""

import io
import math

import loadtest_results as samples
import pytest
from rich.console import Console

from loadtest.report.compare import Comparison, Row, compare

JUDGED = ("answered", "p50 latency", "p90 latency", "p95 latency", "p99 latency")


def rows(comparison: Comparison) -> dict[str, Row]:
    return {row.name: row for row in comparison.rows}


def test_runs_of_the_same_thing_are_not_told_apart() -> None:
    found = rows(compare(samples.result_of(samples.calm(seed=1)), samples.result_of(samples.calm(seed=2))))
    for name in JUDGED:
        assert found[name].low <= 0 <= found[name].high
        assert found[name].judgement == "no difference seen"


def test_a_fifth_more_latency_is_seen_and_its_size_with_it() -> None:
    slow, fast = samples.result_of(samples.calm(seed=2, slower=1.2)), samples.result_of(samples.calm(seed=1))
    worse, better = rows(compare(fast, slow)), rows(compare(slow, fast))
    for name in JUDGED[1:]:
        assert 0 < worse[name].low <= 0.2 * worse[name].a <= worse[name].high
        assert (worse[name].judgement, better[name].judgement) == ("worse", "better")
    assert worse["answered"].judgement == "no difference seen"


def test_outcomes_are_judged_by_which_way_is_good() -> None:
    base = samples.calm()
    found = rows(compare(samples.result_of(base), samples.result_of(samples.overloaded(base))))
    assert found["offered"].judgement == "no difference seen"
    assert [found[name].judgement for name in ("answered", "ok", "shed", "deadline")] == ["worse"] * 4
    assert "error" not in found


def test_one_number_a_run_is_shown_and_not_judged() -> None:
    a = samples.result_of(samples.calm())
    found = rows(
        compare(
            a, a.model_copy(update={"stages": samples.stages(9, slower=2.0), "server_seconds": 60.0, "served": 900.0})
        )
    )
    for name in ("stage heavy, mean", "server CPU for each call answered", "served within the schedule"):
        assert found[name].difference > 0
        assert math.isnan(found[name].low)
        assert found[name].judgement == "not judged"


def test_what_makes_two_runs_incomparable_is_named() -> None:
    calls = samples.calm(seconds=12)
    a = samples.result_of(calls)
    b = samples.result_of(calls, protocol="inference.GRPCInferenceService/ModelInfer", complete=False, plan={"rate": 9})
    said = " / ".join(compare(a, b).warnings)
    assert "protocol differs" in said
    assert "plan differs in schedule (poisson against \u2013), rate (500 against 9)" in said
    assert "B: Whole schedule run: no" in said
    assert compare(a, a).warnings == ()


@pytest.mark.parametrize("seconds", [0, 1, 9])
def test_too_few_windows_are_not_judged(seconds: int) -> None:
    few = samples.calm(rate=100, seconds=seconds) if seconds else samples.nothing()
    comparison = compare(samples.result_of(samples.calm()), samples.result_of(few))
    assert {row.judgement for row in comparison.rows} == {"not judged"}
    assert any("fewer than 10 windows" in warning for warning in comparison.warnings)


def test_a_run_without_answers_can_be_compared() -> None:
    base = samples.calm(rate=100)
    found = rows(compare(samples.result_of(base), samples.result_of(samples.refused(base))))
    assert found["p99 latency"].judgement == "not judged"
    assert found["answered"].judgement == "worse"


def test_a_terminal_shows_rows_and_warnings_and_markup_in_names_is_text() -> None:
    stages = [stage.model_copy(update={"name": "[red]x"}) for stage in samples.stages(5)[:1]]
    result = samples.result_of(samples.calm(seconds=12), stages=stages)
    comparison = compare(result, result.model_copy(update={"target": "[bold]elsewhere"}))
    console = Console(width=160, record=True, file=io.StringIO())
    console.print(comparison)
    text = console.export_text()
    assert "stage [red]x, mean" in text
    assert all(row.name in text for row in comparison.rows)
    assert "95 % intervals" in text
    assert "Warning: target differs: '127.0.0.1:9000' against '[bold]elsewhere'" in text


def test_the_same_seed_gives_the_same_answer() -> None:
    a, b = (samples.result_of(samples.calm(seconds=15, seed=seed)) for seed in (1, 2))
    served = [rows(compare(a, b, seed=seed))["answered"] for seed in (7, 7, 8)]
    assert served[0] == served[1] != served[2]
