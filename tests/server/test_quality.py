"""The degradation ladder keeps the latency target under any load that it can, and does not swing."""

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import pytest

from navi.core.clock import ManualClock
from navi.core.effort import FULL, LEVELS
from navi.server.quality import Quality

TARGET_S = 0.1
SERVICE_S = {"full": 0.010, "coarse": 0.001, "fallback": 0.0003}


@dataclass
class Phase:
    """What became of the calls of one load."""

    seconds: list[float] = field(default_factory=list)
    levels: Counter = field(default_factory=Counter)
    changes: list[float] = field(default_factory=list)

    def settled_percentile(self, percentile: float) -> float:
        return float(np.percentile(self.seconds[len(self.seconds) // 4 :], percentile))


class Queue:
    """One server, first come first served, with known service times; calls come at random; its peak is 100 a second."""

    def __init__(self, percentile: float) -> None:
        self.clock = ManualClock(0.0)
        self.quality = Quality(TARGET_S, percentile, self.clock)
        self._random = np.random.default_rng(7)
        self._now = self._free = 0.0

    def run(self, load: float, seconds: float) -> Phase:
        phase, until, level = Phase(), self._now + seconds, self.quality.level
        while (arrived := self._now + self._random.exponential(0.01 / load)) < until:
            self._now = arrived
            self.clock.now = max(arrived, self._free)
            effort = self.quality.effort()
            self.clock.now += 0.001 + 0.009 * effort.share if effort.level == "fewer" else SERVICE_S[effort.level]
            self._free = self.clock.now
            self.quality.observe(arrived, self._free - arrived)
            phase.seconds.append(self._free - arrived)
            phase.levels[effort.level] += 1
            if self.quality.level != level:
                level = self.quality.level
                phase.changes.append(self._free)
        self._now = until
        return phase


@pytest.mark.parametrize("percentile", [90.0, 95.0, 99.0])
def test_the_percentile_meets_the_target_in_overload_and_the_full_answer_returns_after_it(percentile):
    queue = Queue(percentile)
    assert set(queue.run(0.5, 20).levels) == {"full"}
    for load in (1.5, 3.0, 8.0):
        phase = queue.run(load, 60)
        assert phase.settled_percentile(percentile) <= TARGET_S * 1.05, load
        assert len(phase.changes) <= 6, load
        assert queue.quality.level != "full"
    after = queue.run(0.5, 90)
    assert len(after.changes) == 3
    assert (queue.quality.level, queue.quality.factor, queue.quality.effort()) == ("full", 1.0, FULL)


@pytest.mark.parametrize(("load", "usual"), [(1.5, "fewer"), (3.0, "fewer"), (8.0, "coarse"), (20.0, "fallback")])
def test_no_more_is_given_up_than_the_load_demands(load, usual):
    [(level, _)] = Queue(95.0).run(load, 60).levels.most_common(1)
    assert level == usual


def test_one_late_answer_changes_nothing():
    quality = Quality(TARGET_S, 99.0, ManualClock())
    quality.observe(1_000_000.0, 0.2)
    assert quality.effort() is FULL
    assert quality.factor == 1.0


def test_the_steps_are_taken_one_after_the_other_and_back():
    clock = ManualClock()
    quality = Quality(TARGET_S, 99.0, clock)
    seen = []
    for seconds in [0.2] * 40 + [0.01] * 4000:
        clock.advance(0.01)
        quality.observe(clock.now, seconds)
        if not seen or seen[-1] != quality.level:
            seen.append(quality.level)
        assert 0.1 <= quality.factor <= 1.0
    assert seen == [*LEVELS, *reversed(LEVELS[:-1])]


def test_calls_that_waited_out_a_pause_lead_one_level_down_and_no_further():
    clock = ManualClock()
    quality = Quality(TARGET_S, 99.0, clock)
    before = clock.now
    clock.advance(1.0)
    for _ in range(500):
        quality.observe(before, clock.now - before)
    assert (quality.level, quality.factor) == ("fewer", 0.1)


def test_below_the_floor_a_few_queries_cost_more_and_show_the_way_back():
    clock = ManualClock()
    quality = Quality(TARGET_S, 99.0, clock)
    while quality.level != "coarse":
        clock.advance(0.01)
        quality.observe(clock.now, 0.2)
    quality.observe(clock.now, 0.2)
    efforts = Counter(quality.effort().level for _ in range(1000))
    assert set(efforts) == {"coarse", "fewer"}


def test_few_calls_climb_the_ladder_in_minutes():
    clock = ManualClock()
    quality = Quality(TARGET_S, 99.0, clock)
    for _ in range(100):
        clock.advance(0.001)
        quality.observe(clock.now, 0.2)
    assert quality.level == "fallback"
    for _ in range(100):
        clock.advance(1.0)
        quality.observe(clock.now, 0.01)
    assert quality.effort() is FULL
