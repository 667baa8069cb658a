"""A batcher knows what its model takes, and whose work goes first."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from batching_fakes import Held, Start, answer, call, rowwise

from navi.batching.batch_policy import BatchPolicy
from navi.batching.batcher import Batcher
from navi.core.arrays import Array
from navi.core.clock import ManualClock
from navi.core.deadline import Deadline
from navi.core.errors import BackendError, DeadlineExceeded, Overloaded
from navi.core.priority import Priority

NEVER = Deadline.never()
ROW_S = 0.001


class Timed(Held):
    """Takes a millisecond a row, on a clock of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = ManualClock()

    def __call__(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        outputs = super().__call__(inputs)
        self.clock.advance(ROW_S * len(inputs["item"]))
        return outputs

    def left(self, seconds: float) -> Deadline:
        return Deadline.after(seconds, self.clock)

    def sizes(self) -> list[int]:
        return [len(run) for run in self.runs]


@pytest.fixture
def timed() -> Timed:
    return Timed()


@pytest.fixture
def taught(timed: Timed) -> Batcher:
    """A batcher that has seen what rows take, and whose worker is held by a call of 100 rows."""
    batcher = Batcher(timed, BatchPolicy(max_rows=100), timed.clock).start()
    timed.go.set()
    for n in (100, 10, 1, 50) * 10:
        batcher.run(call(n), NEVER)
        assert timed.running.acquire(timeout=30)
    timed.runs.clear()
    timed.go.clear()
    batcher.submit(call(100), NEVER)
    assert timed.running.acquire(timeout=30)
    return batcher


def test_a_call_that_could_not_be_run_in_time_is_refused_as_it_comes(taught: Batcher, timed: Timed) -> None:
    """100 ms are at work and 50 ms wait; it takes 20 ms itself."""
    waiting = taught.submit(call(50, 1), NEVER)
    in_time = taught.submit(call(20, 2), timed.left(0.2))
    with pytest.raises(Overloaded) as error:
        taught.submit(call(20, 3), timed.left(0.12))
    assert 0.03 < error.value.retry_after_s < 0.1
    assert taught.stats.dropped == {"refused": 1}
    timed.go.set()
    assert waiting.result()["y"].tolist() == answer(50, 1)
    assert in_time.result()["y"].tolist() == answer(20, 2)
    taught.close()


def test_a_call_that_finds_nobody_is_run_however_little_time_it_has(taught: Batcher, timed: Timed) -> None:
    timed.go.set()
    taught.run(call(1), NEVER)
    alone = taught.submit(call(100, 1), timed.left(1e-6))
    taught.close()
    assert alone.result()["y"].tolist() == answer(100, 1)
    assert timed.sizes() == [100, 1, 100]
    assert taught.stats.dropped == {}


def test_a_call_that_can_no_longer_end_in_time_is_dropped_unrun_when_its_turn_comes(
    taught: Batcher, timed: Timed
) -> None:
    late = taught.submit(call(50, 1), timed.left(0.2))
    other = taught.submit(call(1, 2), NEVER)
    timed.clock.advance(0.06)  # the call before it takes 100 ms more, and not the 40 that were expected
    timed.go.set()
    with pytest.raises(DeadlineExceeded, match="could not have answered"):
        late.result()
    assert other.result()["y"].tolist() == answer(1, 2)
    taught.close()
    assert taught.stats.dropped == {"late": 1}
    assert timed.sizes() == [100, 1]


def test_a_run_ends_before_a_call_with_which_it_would_be_too_late_for_another(taught: Batcher, timed: Timed) -> None:
    hurried = taught.submit(call(10, 1), timed.left(0.13))
    large = taught.submit(call(80, 2), NEVER)
    timed.go.set()
    assert hurried.result()["y"].tolist() == answer(10, 1)
    assert large.result()["y"].tolist() == answer(80, 2)
    taught.close()
    assert timed.sizes() == [100, 10, 80]


def test_a_higher_class_is_run_first_and_not_behind_what_waits_below_it(taught: Batcher, timed: Timed) -> None:
    backfill = taught.submit(call(90, 1), NEVER, Priority.BACKFILL)
    organic = taught.submit(call(90, 2), NEVER)
    ads = taught.submit(call(90, 3), timed.left(0.25), Priority.ADS)
    with pytest.raises(Overloaded):
        taught.submit(call(90, 4), timed.left(0.25), Priority.BACKFILL)
    timed.go.set()
    for mark, pending in enumerate((backfill, organic, ads), start=1):
        assert pending.result()["y"].tolist() == answer(90, mark)
    taught.close()
    assert [run[0] for run in timed.runs] == [0, 3, 2, 1]


@pytest.mark.parametrize("at", [0, 31, 63])
def test_one_poisoned_call_among_many_is_found_in_few_runs(start: Start, held: Held, at: int) -> None:
    batcher = start(held, max_rows=1000)
    batcher.submit(call(1), NEVER)
    assert held.running.acquire(timeout=30)
    pending = [batcher.submit(call(2, mark, poison=mark == at), NEVER) for mark in range(64)]
    held.go.set()
    with pytest.raises(BackendError, match="poisoned"):
        pending[at].result()
    assert all(each.result()["y"].tolist() == answer(2, mark) for mark, each in enumerate(pending) if mark != at)
    stats = batcher.stats
    assert (stats.failed, stats.calls) == (1, 64)
    assert stats.batches <= 2 + 2 * 6
    assert stats.rerun <= 6


def test_two_models_under_load_at_once_are_not_mixed_up(start: Start) -> None:
    def negative(inputs: Mapping[str, Array]) -> dict[str, Array]:
        return {name: -values for name, values in rowwise(inputs).items()}

    models = start(rowwise, workers=2), start(negative, workers=2)
    with ThreadPoolExecutor(16) as pool:
        asked = [
            (mark, 1 + mark % 7, pool.submit(models[mark % 2].run, call(1 + mark % 7, mark), NEVER))
            for mark in range(400)
        ]
        for mark, n, future in asked:
            sign = -1 if mark % 2 else 1
            np.testing.assert_array_equal(future.result()["y"], sign * np.array(answer(n, mark), np.float32))


def test_many_cancelled_calls_do_not_wedge_the_batcher(start: Start, held: Held) -> None:
    batcher = start(held, workers=2)
    for _ in range(2):
        batcher.submit(call(1), NEVER)
        assert held.running.acquire(timeout=30)
    gone = [Deadline.after(30) for _ in range(200)]
    for deadline in gone:
        batcher.submit(call(1, 1), deadline)
    for deadline in gone:
        deadline.cancel()
    held.go.set()
    assert batcher.run(call(3, 2), Deadline.after(30))["y"].tolist() == answer(3, 2)
    assert batcher.stats.dropped == {"cancelled": 200}
    assert batcher.stats.queued == 0


def test_a_waiting_call_leaves_at_its_deadline_while_another_is_run(start: Start, held: Held) -> None:
    batcher = start(held)
    batcher.submit(call(1), NEVER)
    assert held.running.acquire(timeout=30)
    with pytest.raises(DeadlineExceeded):
        batcher.run(call(1, 1), Deadline.after(0.02))
    assert not held.go.is_set()


def test_a_new_batch_size_is_run_as_it_is_and_at_once(start: Start) -> None:
    """No padding, no compilation by shape, no warming in between: one run a call, of just its rows."""
    sizes: list[int] = []

    def counted(inputs: Mapping[str, Array]) -> dict[str, Array]:
        sizes.append(len(inputs["item"]))
        return rowwise(inputs)

    batcher = start(counted)
    for n in range(1, 60):
        batcher.run(call(n), NEVER)
    assert sizes == list(range(1, 60))
