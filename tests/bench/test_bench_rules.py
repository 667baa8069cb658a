"""Rules that the benchmarks' numbers rest on."""

import math
import os
import sys

import numpy as np
import pytest

from loadtest.bench.engine import TOLERANCE, difference
from loadtest.bench.overload import good_calls, recovery_seconds
from loadtest.histogram import bucket_of
from loadtest.result import Window
from navi.bench.processes import cores, cpu_seconds, pinned, running
from navi.core.errors import SetupError


def window(start: float, *, offered: int, good: int, late: int = 0) -> Window:
    latency = {bucket_of(0.01): good, bucket_of(0.5): late}
    return Window(start=start, seconds=1.0, offered=offered, outcomes={"ok": good + late}, latency=latency, service={})


def test_only_answers_within_the_deadline_are_good() -> None:
    assert good_calls([window(0, offered=9, good=5, late=2), window(1, offered=9, good=3)], 0.2) == 8


def test_recovery_counts_to_the_first_of_three_good_seconds_in_a_row() -> None:
    good = [50, 100, 50, 100, 100, 100, 50]
    windows = [window(at, offered=100, good=calls) for at, calls in enumerate(good)]
    assert recovery_seconds(windows, 1.0, 0.2) == 2.0
    assert recovery_seconds(windows, 3.0, 0.2) == 0.0
    assert recovery_seconds(windows, 4.0, 0.2) == math.inf


def test_a_score_that_only_float32_rounds_is_equal_and_one_off_by_more_than_the_rule_is_not() -> None:
    logits = np.array([[-12.0], [-3.0], [0.0], [0.5], [8.0]])
    said = 1 / (1 + np.exp(-logits))
    assert difference(said.astype(np.float32), logits) == 0.0
    off = 1 / (1 + np.exp(-(logits + 1e-3)))
    assert difference(off.astype(np.float32), logits) > TOLERANCE


def test_a_pinned_thread_and_its_children_stay_on_one_core() -> None:
    before, last = cores(), cores()[-1]
    with pinned(last):
        assert cores() == [last]
    assert cores() == before


def test_a_process_that_never_gets_ready_is_ended_and_told() -> None:
    with pytest.raises(SetupError, match="before it was ready"), running([sys.executable, "-c", "raise SystemExit(3)"]):
        pass
    sleeping = [sys.executable, "-c", "import time; time.sleep(60)"]
    with pytest.raises(SetupError, match="in time"), running(sleeping, starting_s=0.2):
        pass


def test_cpu_seconds_grow_with_work() -> None:
    before = cpu_seconds(os.getpid())
    sum(range(300_000))
    assert cpu_seconds(os.getpid()) > before
