"""Rows of several callers share a run, and each caller gets its own."""

import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from batching_fakes import Held, Start, answer, call, rowwise
from hypothesis import given, settings
from hypothesis import strategies as st

from navi.batching.batch_policy import BatchPolicy
from navi.batching.batcher import Batcher
from navi.batching.score_call import ScoreCall
from navi.core.arrays import Array
from navi.core.clock import ManualClock
from navi.core.deadline import Deadline
from navi.core.errors import BackendError, Cancelled, DeadlineExceeded, InvalidArgument, Unavailable

NEVER = Deadline.never()
"""A deadline that no test cancels."""


def run_together(sizes: list[int], policy: BatchPolicy) -> tuple[list[list[float]], list[list[float]]]:
    """Rows of each run, and each call's answers, where all calls wait while a first one runs."""
    held = Held()
    batcher = Batcher(held, policy).start()
    first = batcher.submit(call(1, mark=99), NEVER)
    assert held.running.acquire(timeout=30)
    waiting = [batcher.submit(call(n, mark), NEVER) for mark, n in enumerate(sizes)]
    held.go.set()
    answers = [pending.result()["y"].tolist() for pending in waiting]
    assert first.result()["y"].tolist() == answer(1, 99)
    batcher.close()
    return held.runs[1:], answers


@settings(deadline=None, max_examples=60)
@given(
    sizes=st.lists(st.integers(1, 12), min_size=1, max_size=15),
    max_rows=st.integers(1, 20),
    workers=st.integers(1, 2),
    shared=st.booleans(),
)
def test_every_call_gets_its_own_rows_in_order_and_no_run_passes_the_budget(
    sizes: list[int], max_rows: int, workers: int, shared: bool
) -> None:
    runs, answers = run_together(sizes, BatchPolicy(max_rows, workers=workers, shared=shared))
    assert answers == [answer(n, mark) for mark, n in enumerate(sizes)]
    marks = [list(dict.fromkeys(run)) for run in runs]
    # With two workers a run may begin before one that was taken earlier; within a run the order is kept.
    assert all(each == sorted(each) for each in marks)
    assert sorted(mark for each in marks for mark in each) == list(range(len(sizes)))
    assert all(len(run) <= max_rows or len(each) == 1 for run, each in zip(runs, marks, strict=True))
    assert shared or all(len(each) == 1 for each in marks)


@settings(deadline=None, max_examples=40)
@given(sizes=st.lists(st.integers(1, 12), min_size=1, max_size=15), max_rows=st.integers(1, 20))
def test_a_worker_takes_all_that_fits_from_the_head_of_the_queue(sizes: list[int], max_rows: int) -> None:
    runs, _ = run_together(sizes, BatchPolicy(max_rows))
    expected: list[list[int]] = []
    for n in sizes:
        if expected and sum(expected[-1]) + n <= max_rows:
            expected[-1].append(n)
        else:
            expected.append([n])
    assert [len(run) for run in runs] == [sum(each) for each in expected]


def test_a_lone_call_leaves_at_once(start: Start, held: Held) -> None:
    """There is no timer: with a budget that is never reached, the call is run."""
    held.go.set()
    assert start(held, max_rows=1_000_000).run(call(3, 5), NEVER)["y"].tolist() == answer(3, 5)


def test_outputs_keep_their_width(start: Start) -> None:
    assert start(rowwise).run(call(2, 5), NEVER)["xy"].tolist() == [[0, 5, 0], [1, 5, 0]]


def test_nothing_is_lost_under_many_threads_and_a_slow_model(start: Start) -> None:
    def slow(inputs: Mapping[str, Array]) -> dict[str, Array]:
        time.sleep(0.0005)
        return rowwise(inputs)

    batcher = start(slow, max_rows=40, workers=2)
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda mark: batcher.run(call(1 + mark % 7, mark), NEVER)["y"].tolist(), range(600)))
    assert answers == [answer(1 + mark % 7, mark) for mark in range(600)]
    stats = batcher.stats
    assert (stats.calls, stats.rows, stats.queued) == (600, sum(1 + mark % 7 for mark in range(600)), 0)
    assert stats.batches < 600
    assert sum(stats.rows_histogram.values()) == stats.batches
    assert max(stats.rows_histogram) <= 64


def test_two_workers_run_at_the_same_time(start: Start, held: Held) -> None:
    batcher = start(held, workers=2)
    pending = []
    for mark in range(2):
        pending.append(batcher.submit(call(1, mark), NEVER))
        assert held.running.acquire(timeout=30)
    held.go.set()
    assert [each.result()["y"].tolist() for each in pending] == [answer(1, 0), answer(1, 1)]


def test_a_poisoned_call_fails_alone(start: Start, held: Held) -> None:
    batcher = start(held)
    batcher.submit(call(1), NEVER)
    assert held.running.acquire(timeout=30)
    pending = [batcher.submit(call(2, mark, poison=mark == 1), NEVER) for mark in range(4)]
    held.go.set()
    with pytest.raises(BackendError, match="the model failed: poisoned"):
        pending[1].result()
    assert [pending[mark].result()["y"].tolist() for mark in (0, 2, 3)] == [answer(2, mark) for mark in (0, 2, 3)]
    stats = batcher.stats
    assert (stats.rerun, stats.failed, stats.calls, stats.batches) == (1, 1, 4, 6)


@pytest.mark.parametrize(
    "misfit",
    [
        ScoreCall({"user": np.zeros((1, 3), np.float32)}, {"item": np.zeros((2, 1), np.float32)}, 2),
        ScoreCall({"user": np.zeros((1, 2), np.float64)}, {"item": np.zeros((2, 1), np.float32)}, 2),
        ScoreCall({"user": np.zeros((1, 2), np.float32)}, {"item": np.zeros((2, 1), np.int64)}, 2),
        ScoreCall({"user": np.zeros((1, 2), np.float32)}, {"thing": np.zeros((2, 1), np.float32)}, 2),
    ],
    ids=["width", "request dtype", "row dtype", "name"],
)
def test_a_call_that_does_not_fit_its_mates_does_not_change_their_answers(
    start: Start, held: Held, misfit: ScoreCall
) -> None:
    batcher = start(held)
    batcher.submit(call(1), NEVER)
    assert held.running.acquire(timeout=30)
    before, _, after = (batcher.submit(each, NEVER) for each in (call(2, 1), misfit, call(3, 2)))
    held.go.set()
    assert before.result()["y"].tolist() == answer(2, 1)
    assert after.result()["y"].tolist() == answer(3, 2)
    assert batcher.stats.rerun == 1


def test_a_call_that_gives_its_request_inputs_row_by_row_shares_a_run(start: Start, held: Held) -> None:
    batcher = start(held)
    batcher.submit(call(1), NEVER)
    assert held.running.acquire(timeout=30)
    user = np.array([[3, 0], [4, 0]], np.float32)
    by_row = ScoreCall({}, {"user": user, "item": np.array([[5], [6]], np.float32)}, 2)
    pending = [batcher.submit(each, NEVER) for each in (call(2, 1), by_row, call(1, 2))]
    held.go.set()
    assert [each.result()["y"].tolist() for each in pending] == [answer(2, 1), [3005.0, 4006.0], answer(1, 2)]
    assert (batcher.stats.batches, batcher.stats.rerun) == (2, 0)


def test_an_input_with_too_few_rows_is_refused_at_the_door(start: Start) -> None:
    batcher = start(rowwise)
    short = ScoreCall({"user": np.zeros((1, 2), np.float32)}, {"item": np.zeros((2, 1), np.float32)}, 3)
    with pytest.raises(InvalidArgument, match=r"inputs\.item: has 2 rows, where 3 are expected"):
        batcher.run(short, NEVER)
    double = ScoreCall({"user": np.zeros((2, 2), np.float32)}, {"item": np.zeros((3, 1), np.float32)}, 3)
    with pytest.raises(InvalidArgument, match=r"inputs\.user: has 2 rows, where one is expected"):
        batcher.run(double, NEVER)
    assert batcher.stats.batches == 0


@pytest.mark.parametrize("outputs", [np.zeros(2), np.zeros((4, 1)), np.float32(1)])
def test_an_output_without_a_row_for_each_is_a_backend_error(start: Start, outputs: Array) -> None:
    with pytest.raises(BackendError, match=r"output 'y' is .* for 3 rows"):
        start(lambda _: {"y": outputs}).run(call(3), NEVER)


def test_a_backend_error_passes_as_it_is(start: Start) -> None:
    error = BackendError("out of memory")

    def broken(_: Mapping[str, Array]) -> dict[str, Array]:
        raise error

    with pytest.raises(BackendError) as caught:
        start(broken).run(call(1), NEVER)
    assert caught.value is error


def test_the_caller_leaves_at_the_deadline_while_the_model_runs(start: Start, held: Held) -> None:
    batcher = start(held)
    with pytest.raises(DeadlineExceeded):
        batcher.run(call(1), Deadline.after(0.02))
    assert len(held.runs) == 1
    held.go.set()
    assert batcher.run(call(1, 4), NEVER)["y"].tolist() == answer(1, 4)
    assert batcher.stats.late == 1


def test_a_call_whose_deadline_passed_in_the_queue_is_dropped_unrun(start: Start, held: Held) -> None:
    clock = ManualClock()
    batcher = start(held)
    batcher.submit(call(1), NEVER)
    assert held.running.acquire(timeout=30)
    late = batcher.submit(call(1, 1), Deadline.after(5, clock))
    kept = batcher.submit(call(1, 2), Deadline.after(50, clock))
    clock.advance(10)
    held.go.set()
    assert kept.result()["y"].tolist() == answer(1, 2)
    with pytest.raises(DeadlineExceeded):
        late.result()
    assert batcher.stats.dropped == {"deadline": 1}
    assert [1.0] not in held.runs


def test_a_call_whose_caller_went_away_is_dropped_unrun(start: Start, held: Held) -> None:
    batcher = start(held)
    batcher.submit(call(1), NEVER)
    assert held.running.acquire(timeout=30)
    deadline = Deadline.after(30)
    gone = batcher.submit(call(1, 1), deadline)
    deadline.cancel()
    held.go.set()
    with pytest.raises(Cancelled):
        gone.result()
    assert batcher.stats.dropped == {"cancelled": 1}
    assert [1.0] not in held.runs


def test_a_call_that_nobody_waits_for_is_not_queued(start: Start, held: Held) -> None:
    batcher = start(held)
    cancelled = Deadline.after(30)
    cancelled.cancel()
    with pytest.raises(Cancelled):
        batcher.submit(call(1), cancelled)
    with pytest.raises(DeadlineExceeded):
        batcher.submit(call(1), Deadline.after(0))
    assert batcher.stats.queued == 0


def test_close_finishes_what_waits_and_refuses_what_comes(start: Start, held: Held) -> None:
    batcher = start(held)
    waiting = [batcher.submit(call(60, mark), NEVER) for mark in range(4)]
    assert held.running.acquire(timeout=30)
    closing = threading.Thread(target=batcher.close)
    closing.start()
    held.go.set()
    closing.join(30)
    assert [pending.result()["y"].tolist() for pending in waiting] == [answer(60, mark) for mark in range(4)]
    with pytest.raises(Unavailable):
        batcher.submit(call(1), NEVER)


def test_a_lingering_worker_waits_for_company_up_to_the_budget(start: Start) -> None:
    """With an hour to linger, only a full budget lets the calls go."""
    sizes: list[int] = []

    def counted(inputs: Mapping[str, Array]) -> dict[str, Array]:
        sizes.append(len(inputs["user"]))
        return rowwise(inputs)

    batcher = start(counted, max_rows=6, linger_s=3600.0, workers=2)
    waiting = [batcher.submit(call(2, mark), NEVER) for mark in range(3)]
    assert [pending.result()["y"].tolist() for pending in waiting] == [answer(2, mark) for mark in range(3)]
    assert sizes == [6]


def test_a_lingering_worker_goes_when_its_time_is_over_or_the_batcher_closes(start: Start) -> None:
    assert start(rowwise, linger_s=0.001).run(call(1, 2), NEVER)["y"].tolist() == answer(1, 2)
    patient = start(rowwise, linger_s=3600.0)
    pending = patient.submit(call(1, 3), NEVER)
    patient.close()
    assert pending.result()["y"].tolist() == answer(1, 3)


def test_calls_that_may_not_share_a_run_do_not_wait_for_company(start: Start) -> None:
    batcher = start(rowwise, linger_s=3600.0, shared=False)
    assert batcher.run(call(1, 2), NEVER)["y"].tolist() == answer(1, 2)


def test_stats_add_up(start: Start, held: Held) -> None:
    batcher = start(held)
    waiting = [batcher.submit(call(1), NEVER)]
    assert held.running.acquire(timeout=30)
    waiting += [batcher.submit(call(n), NEVER) for n in (3, 5)]
    assert batcher.stats.queued == 2
    held.go.set()
    for pending in waiting:
        pending.result()
    stats = batcher.stats
    assert (stats.batches, stats.calls, stats.rows, stats.queued) == (2, 3, 9, 0)
    assert stats.rows_histogram == {1: 1, 8: 1}
    assert stats.dropped == {}
    assert stats.run_s > 0
    assert stats.wait_s > 0
