"""The door, against a model of a server whose threads share cores: overload costs no goodput."""

from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count

import numpy as np
import pytest

from navi.core.clock import ManualClock
from navi.core.priority import Priority
from navi.server.door import Denied, Door, Ticket

DEADLINE_S = 0.3
COST_S = 0.0075
THREADS = 8
SECONDS = 30.0


@dataclass
class Job:
    ticket: Ticket
    due: float
    left: float
    slept: float


@dataclass
class Model:
    """A pool of threads that share `cores` evenly, behind a door. Work is `cost` of CPU, after a sleep."""

    cores: int = 1
    threads: int = THREADS
    sleep: float = 0.0
    clock: ManualClock = field(default_factory=ManualClock)

    def __post_init__(self):
        self.door = Door(threads=self.threads, limit=128, retry_after_s=0.1, clock=self.clock)
        self.queue: list[tuple[float, int, Job]] = []
        self.numbers = count()
        self.running: list[Job] = []
        self.good: dict[Priority, int] = dict.fromkeys(Priority, 0)
        self.late = self.skipped = 0
        self.denied: list[Denied] = []
        self.latencies: list[float] = []

    def run(self, arrivals, costs, classes=None, deadline_s=DEADLINE_S):
        """Arrivals: seconds from now."""
        start = self.clock.now
        for number, (at, cost) in enumerate(zip(arrivals, costs, strict=True)):
            self.work_until(start + at)
            priority = Priority.ORGANIC if classes is None else classes[number]
            ticket = self.door.enter("Rank", priority, deadline_s)
            if isinstance(ticket, Denied):
                self.denied.append(ticket)
                continue
            job = Job(ticket, self.clock.now + deadline_s, cost, self.sleep)
            heappush(self.queue, (priority.turn(self.clock.now), next(self.numbers), job))
            self.begin()
        self.work_until(self.clock.now + 10.0)
        return self

    def begin(self):
        while self.queue and len(self.running) < self.threads:
            job = heappop(self.queue)[2]
            left = job.due - self.clock.now
            if left <= 0 or not self.door.begin(job.ticket, left):
                self.door.skip(job.ticket)
                self.skipped += 1
            else:
                self.running.append(job)

    def work_until(self, until):
        while self.running:
            awake = [job for job in self.running if job.slept <= 0]
            pace = min(1.0, self.cores / len(awake)) if awake else 1.0
            step = min([job.slept for job in self.running if job.slept > 0] + [job.left / pace for job in awake])
            step = min(step, until - self.clock.now)
            self.clock.advance(step)
            for job in self.running:
                if job.slept > 0:
                    job.slept -= step
                else:
                    job.left -= step * pace
            for job in [job for job in self.running if job.slept <= 1e-9 and job.left <= 1e-9]:
                self.running.remove(job)
                self.end(job)
            self.begin()
            if until - self.clock.now <= 1e-9:
                break
        self.clock.now = max(self.clock.now, until)

    def end(self, job):
        on_time = self.clock.now <= job.due
        self.door.end(job.ticket, "home", whole=on_time)
        if on_time:
            self.good[job.ticket.priority] += 1
        else:
            self.late += 1


def poisson(rate, seconds=SECONDS, seed=7):
    return np.cumsum(np.random.default_rng(seed).exponential(1 / rate, round(rate * seconds))).tolist()


def costs(arrivals, mean=COST_S, seed=3):
    """Half of the cost is the same for all calls, the other half is exponential."""
    return (mean / 2 + np.random.default_rng(seed).exponential(mean / 2, len(arrivals))).tolist()


@pytest.mark.parametrize(("cores", "threads"), [(1, 2), (1, 8), (2, 8)])
@pytest.mark.parametrize("load", [1, 2, 4])
def test_overload_costs_no_goodput_and_what_is_taken_on_is_answered_in_time(cores, threads, load):
    arrivals = poisson(load * cores / COST_S)
    model = Model(cores=cores, threads=threads).run(arrivals, costs(arrivals))
    good = sum(model.good.values())
    assert good >= 0.9 * SECONDS * cores / COST_S
    assert model.late + model.skipped <= 0.01 * good
    assert good + model.late + model.skipped + len(model.denied) == len(arrivals)
    assert model.door.in_flight == 0


def test_a_server_with_time_for_all_refuses_none():
    arrivals = poisson(0.7 / COST_S)
    model = Model().run(arrivals, costs(arrivals))
    assert not model.denied
    assert sum(model.good.values()) == len(arrivals)


def test_threads_that_wait_for_other_machines_are_all_used():
    """The time of such a call does not grow with the calls beside it, and the door learns so."""
    arrivals = poisson(0.8 * THREADS / 0.05)
    model = Model(sleep=0.05).run(arrivals, [0.0001] * len(arrivals), deadline_s=0.2)
    assert sum(model.good.values()) >= 0.99 * len(arrivals)


def test_the_lowest_class_is_refused_first():
    arrivals = poisson(2 / COST_S)
    classes = [Priority(each) for each in np.random.default_rng(1).choice(3, len(arrivals), p=[0.2, 0.4, 0.4])]
    model = Model().run(arrivals, costs(arrivals), classes)
    answered = {rank: model.good[rank] / classes.count(rank) for rank in Priority}
    assert answered[Priority.ADS] > 0.98
    assert answered[Priority.ADS] > answered[Priority.ORGANIC] > 2 * answered[Priority.BACKFILL]
    assert sum(model.good.values()) >= 0.9 * SECONDS / COST_S
    assert any(denied.reason == "priority" for denied in model.denied)


def test_a_lower_class_that_has_waited_long_goes_before_a_higher_one_that_comes():
    assert Priority.BACKFILL.turn(100.0) < Priority.ADS.turn(102.5)
    assert Priority.ADS.turn(100.9) < Priority.ORGANIC.turn(100.0)


def test_after_a_spell_of_slow_calls_the_door_opens_again():
    slow, quick = poisson(20, 10.0), poisson(0.7 / COST_S, 10.0)
    model = Model().run(slow, [0.2] * len(slow))
    assert model.denied
    before, denied = sum(model.good.values()), len(model.denied)
    model.run(quick, costs(quick))
    assert sum(model.good.values()) - before > 0.95 * len(quick)
    assert len(model.denied) - denied < 0.05 * len(quick)


def test_a_call_that_finds_nobody_is_taken_on_however_little_time_it_has():
    clock = ManualClock()
    door = Door(threads=2, limit=10, retry_after_s=0.1, clock=clock)
    work(door, clock, 5.0)
    ticket = door.enter("Rank", Priority.BACKFILL, 0.01)
    assert isinstance(ticket, Ticket)
    denied = door.enter("Rank", Priority.ADS, 0.01)
    assert isinstance(denied, Denied)
    assert denied.reason == "deadline"


def test_a_refused_caller_is_told_when_its_call_would_be_in_time():
    clock = ManualClock()
    door = Door(threads=1, limit=100, retry_after_s=0.1, clock=clock)
    work(door, clock, 1.0)
    for _ in range(3):
        assert isinstance(door.enter("Rank", Priority.ADS, 100.0), Ticket)
    denied = door.enter("Rank", Priority.ADS, 2.0)
    assert isinstance(denied, Denied)
    assert denied.retry_after_s == pytest.approx(3 / 0.85 + 1 - 2, rel=0.05)


def test_a_call_that_was_given_up_does_not_count_as_a_quick_one():
    clock = ManualClock()
    door = Door(threads=1, limit=100, retry_after_s=0.1, clock=clock)
    work(door, clock, 1.0)
    learned = door.learned()["Rank", "home"]
    work(door, clock, 0.001, whole=False)
    assert door.learned()["Rank", "home"] == learned


def test_a_call_whose_turn_comes_too_late_is_not_worked_on_while_others_wait():
    clock = ManualClock()
    door = Door(threads=2, limit=100, retry_after_s=0.1, clock=clock)
    work(door, clock, 1.0)
    tickets = [door.enter("Rank", Priority.ORGANIC, 100.0) for _ in range(3)]
    assert door.begin(tickets[0], 0.5), "nobody is at work"
    assert not door.begin(tickets[1], 0.5)
    door.skip(tickets[1])
    assert door.begin(tickets[2], 0.5), "nobody waits behind it"


def work(door, clock, seconds, *, whole=True):
    """One call, alone."""
    ticket = door.enter("Rank", Priority.ORGANIC, 1000.0)
    assert isinstance(ticket, Ticket)
    assert door.begin(ticket, 1000.0)
    clock.advance(seconds)
    door.end(ticket, "home", whole=whole)
