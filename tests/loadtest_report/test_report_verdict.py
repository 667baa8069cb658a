"""The verdict names what happened, and doubts whoever measured it where there is reason."""

import loadtest_results as samples
import pytest

from loadtest.report.verdict import verdict_of
from loadtest.report.words import duration, percent
from loadtest.result import Generator, Result


def test_the_headline_says_what_happened() -> None:
    base = samples.calm()
    found = {
        "calm": samples.result_of(base),
        "stalled": samples.result_of(samples.stalled(base)),
        "overloaded": samples.result_of(samples.overloaded(base)),
        "refused": samples.result_of(samples.refused(base)),
        "nothing": samples.result_of(samples.nothing()),
    }
    said = {name: verdict_of(result) for name, result in found.items()}
    assert said["calm"].headline == "Every call answered in full"
    assert said["stalled"].headline.startswith("Every call answered in full, but for a while")
    assert said["overloaded"].headline.startswith("Overloaded: 7")
    assert said["refused"].headline == "No call was answered"
    assert said["nothing"].headline == "No call was made"
    assert [verdict.tone for verdict in said.values()] == ["good", "warn", "bad", "bad", "bad"]


def test_the_sentence_holds_both_ways_of_counting_and_the_worst_window() -> None:
    sentence = verdict_of(samples.result_of(samples.stalled(samples.calm()))).sentence
    assert "from due time" in sentence
    assert "from sending" in sentence
    assert sentence.endswith("at 20\xa0s.")


@pytest.mark.parametrize(
    "changes",
    [
        {"complete": False},
        {"generators": [Generator(pid=1, cpu_seconds=50, wall_seconds=60, cpu_share=0.83, connections=8, calls=9)]},
        {"lateness": {"p99": 0.02}},
        {"lateness": {}},
    ],
    ids=["ended early", "busy", "late", "unknown"],
)
def test_a_generator_without_time_to_spare_is_not_trusted(changes: dict[str, object]) -> None:
    result = samples.result_of(samples.calm(seconds=5))
    assert verdict_of(result).trusted
    assert not verdict_of(Result.model_copy(result, update=changes)).trusted


def test_numbers_keep_what_matters() -> None:
    assert [percent(share) for share in (0.0, 0.00004, 0.123, 0.99999, 1.0)] == [
        f"{text}\xa0%" for text in ("0", "0.004", "12.3", "99.999", "100")
    ]
    assert [duration(seconds) for seconds in (4.2e-5, 0.0051, 0.9999, 61.25)] == [
        "42.0\xa0µs",
        "5.10\xa0ms",
        "1.00\xa0s",
        "61.2\xa0s",
    ]
