"""Rows of several callers in one run of a model."""

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from navi.batching.batch_policy import BatchPolicy
from navi.batching.batch_queue import BatchQueue
from navi.batching.batcher_stats import BatcherStats, DropReason, Tally
from navi.batching.observer import BatchObserver, Unwatched
from navi.batching.pending import Outputs, Pending
from navi.batching.score_call import ScoreCall, assemble, split
from navi.core.arrays import Array
from navi.core.clock import Clock, SystemClock
from navi.core.deadline import Deadline
from navi.core.errors import BackendError, Cancelled, DeadlineExceeded, NaviError, Overloaded, Unavailable
from navi.core.priority import Priority

BackendRun: TypeAlias = Callable[[Mapping[str, Array]], Mapping[str, Array]]

Run: TypeAlias = tuple[float, float]
"""When a run began, and when it is expected to end (monotonic)."""

_FEW: Final = 6
"""Up to so many calls it takes no more runs to run each alone than to halve them."""


class Batcher:
    """Work-conserving: a worker that is free takes whole calls from the head of the queue, by class and in the order of
    their arrival, with what is there, up to the row budget.

    Calls whose deadline has passed or whose caller is gone are dropped before they are run, and counted. What a run
    takes is learned (rows -> seconds): a call that could not end in time is refused as it comes, and dropped where that
    shows only when its turn has come; one that nobody waits behind is tried all the same. Where a run of several calls
    fails, its parts are run again, so that only the call at fault fails. Workers are threads of its own, so that a
    caller can leave at its deadline while the model still runs.
    """

    def __init__(
        self,
        run: BackendRun,
        policy: BatchPolicy,
        clock: Clock | None = None,
        *,
        name: str = "model",
        observer: BatchObserver | None = None,
    ) -> None:
        self._run = run
        self._name = name
        self._observer = observer or Unwatched()
        self._policy = policy
        self._clock = clock or SystemClock()
        self._queue = BatchQueue(policy)
        self._ends: list[float] = []
        self._tally = Tally()
        self._closed = False
        self._changed = threading.Condition(threading.Lock())
        self._workers = [
            threading.Thread(target=self._work, name=f"navi-{name}-{index}", daemon=True)
            for index in range(policy.workers)
        ]

    def start(self) -> "Batcher":
        for worker in self._workers:
            worker.start()
        return self

    def run(self, call: ScoreCall, deadline: Deadline, priority: Priority = Priority.ORGANIC) -> Outputs:
        """The model's outputs for this call's rows; see `submit` and `Pending.result` for what is raised."""
        return self.submit(call, deadline, priority).result()

    def submit(self, call: ScoreCall, deadline: Deadline, priority: Priority = Priority.ORGANIC) -> Pending:
        """Put a call into the queue.

        Raises InvalidArgument where an input has not the call's number of rows, DeadlineExceeded or Cancelled where
        nobody waits any more, Overloaded where it could not be run in time, Unavailable after `close`.
        """
        call.check()
        deadline.check("the model was asked")
        with self._changed:
            if self._closed:
                raise Unavailable("the model is being closed")
            now = self._clock.monotonic()
            self._check_time(call, deadline, priority, now)
            pending = Pending(call, deadline, now, priority)
            self._queue.put(pending)
            self._changed.notify()
        return pending

    @property
    def stats(self) -> BatcherStats:
        with self._changed:
            return self._tally.snapshot(len(self._queue))

    def close(self) -> None:
        """Take no more calls, finish those in the queue (each still within its deadline), and stop."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        for worker in self._workers:
            worker.join()

    def _work(self) -> None:
        while (batch := self._next_batch()) is not None:
            if batch:
                self._run_batch(batch)

    def _next_batch(self) -> list[Pending] | None:
        """The calls of the next run; none where all that waited were dropped; None once closed and empty."""
        with self._changed:
            while not self._queue:
                if self._closed:
                    return None
                self._changed.wait()
            self._linger()
            batch = self._queue.take(self._dropped)
            if self._queue:
                self._changed.notify()
            return batch

    def _linger(self) -> None:
        """Wait for company, where the policy says so and the budget is not reached."""
        if not self._policy.linger_s or not self._policy.shared:
            return
        while self._queue and self._queue.rows < self._policy.max_rows and not self._closed:
            left = self._queue.next_arrived + self._policy.linger_s - self._clock.monotonic()
            if left <= 0:
                return
            self._changed.wait(left)

    def _check_time(self, call: ScoreCall, deadline: Deadline, priority: Priority, now: float) -> None:
        """Overloaded for a call that would end after its deadline, behind what waits and what runs."""
        if not self._ends and not self._queue:
            return
        free = len(self._ends) < self._policy.workers
        wait_s = self._queue.wait_s(priority) + (0.0 if free else max(min(self._ends) - now, 0.0))
        late = wait_s + self._queue.times.at(call.n) - deadline.remaining()
        if late > 0.0:
            self._drop("refused")
            raise Overloaded(f"model {self._name!r} could not answer in time now", retry_after_s=max(late, 0.001))

    def _dropped(self, pending: Pending) -> bool:
        """Whether a call is not to be run; its caller is told."""
        if pending.deadline.cancelled:
            self._drop("cancelled")
            pending.finish(Cancelled("the caller went away before the model had run"))
        elif pending.deadline.expired:
            self._drop("deadline")
            pending.finish(DeadlineExceeded("the deadline passed before the model had run"))
        elif self._queue and self._queue.times.at(pending.call.n) > pending.deadline.remaining():
            self._drop("late")
            pending.finish(DeadlineExceeded("the model could not have answered before the deadline"))
        else:
            return False
        return True

    def _drop(self, reason: DropReason) -> None:
        self._tally.dropped[reason] += 1
        self._observer.dropped(self._name, reason)

    def _run_batch(self, batch: Sequence[Pending]) -> None:
        calls = [pending.call for pending in batch]
        run = self._begin(calls)
        try:
            answers: Sequence[Outputs | NaviError] = split(self._run(assemble(calls)), calls)
        except Exception as error:  # the batch worker: whatever a model raises ends with its callers, and is counted
            if len(batch) > 1:
                self._count(batch, run, rerun=True)
                self._run_parts(batch)
                return
            answers = [_backend_error(error)]
        self._count(batch, run, failed=isinstance(answers[0], NaviError))
        for pending, answer in zip(batch, answers, strict=True):
            pending.finish(answer)

    def _run_parts(self, batch: Sequence[Pending]) -> None:
        """By halves one call at fault among n is found in about 2 log2(n) runs; a few calls are run one by one."""
        size = 1 if len(batch) <= _FEW else (len(batch) + 1) // 2
        for start in range(0, len(batch), size):
            with self._changed:
                kept = [pending for pending in batch[start : start + size] if not self._dropped(pending)]
            if kept:
                self._run_batch(kept)

    def _begin(self, calls: Sequence[ScoreCall]) -> Run:
        started = self._clock.monotonic()
        with self._changed:
            ends = started + self._queue.times.at(sum(call.n for call in calls))
            self._ends.append(ends)
        return started, ends

    def _count(self, batch: Sequence[Pending], run: Run, *, rerun: bool = False, failed: bool = False) -> None:
        rows, (started, ends) = sum(pending.call.n for pending in batch), run
        seconds = self._clock.monotonic() - started
        waits = () if rerun or failed else tuple(started - pending.arrived for pending in batch)
        self._observer.ran(self._name, rows, seconds, waits)
        if failed:
            self._observer.dropped(self._name, "failed")
        with self._changed:
            self._ends.remove(ends)
            self._tally.ran(rows, seconds)
            if rerun:
                self._tally.rerun += 1
            elif failed:
                self._tally.failed += 1
            else:
                self._queue.times.observe(rows, seconds)
                self._tally.calls += len(batch)
                self._tally.rows += rows
                self._tally.late += sum(pending.deadline.expired for pending in batch)
                self._tally.wait_s += sum(waits)


def _backend_error(error: Exception) -> BackendError:
    if isinstance(error, BackendError):
        return error
    wrapped = BackendError(f"the model failed: {error}")
    wrapped.__cause__ = error
    return wrapped
