"""Rows of several callers in one run of a model."""

import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from navi.batching.batch_policy import BatchPolicy
from navi.batching.batcher_stats import BatcherStats, Tally
from navi.batching.pending import Outputs, Pending
from navi.batching.score_call import ScoreCall, assemble, split
from navi.core.arrays import Array
from navi.core.clock import Clock, SystemClock
from navi.core.deadline import Deadline
from navi.core.errors import BackendError, Cancelled, DeadlineExceeded, NaviError, Unavailable

BackendRun: TypeAlias = Callable[[Mapping[str, Array]], Mapping[str, Array]]


class Batcher:
    """Work-conserving: a worker that is free takes whole calls from the head of the queue, in the order of their
    arrival, with what is there, up to the row budget.

    Calls whose deadline has passed or whose caller is gone are dropped before they are run, and counted. Where a run
    of several calls fails, each is run again alone, so that only the one at fault fails. Workers are threads of its
    own, so that a caller can leave at its deadline while the model still runs.
    """

    def __init__(
        self, run: BackendRun, policy: BatchPolicy, clock: Clock | None = None, *, name: str = "model"
    ) -> None:
        self._run = run
        self._policy = policy
        self._clock = clock or SystemClock()
        self._queue: deque[Pending] = deque()
        self._queued_rows = 0
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

    def run(self, call: ScoreCall, deadline: Deadline) -> Outputs:
        """The model's outputs for this call's rows; see `submit` and `Pending.result` for what is raised."""
        return self.submit(call, deadline).result()

    def submit(self, call: ScoreCall, deadline: Deadline) -> Pending:
        """Put a call into the queue.

        Raises InvalidArgument where an input has not the call's number of rows, DeadlineExceeded or Cancelled where
        nobody waits any more, Unavailable after `close`.
        """
        call.check()
        deadline.check("the model was asked")
        pending = Pending(call, deadline, self._clock.monotonic())
        with self._changed:
            if self._closed:
                raise Unavailable("the model is being closed")
            self._queue.append(pending)
            self._queued_rows += call.n
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
            batch = self._take()
            if self._queue:
                self._changed.notify()
            return batch

    def _linger(self) -> None:
        """Wait for company, where the policy says so and the budget is not reached."""
        if not self._policy.linger_s or not self._policy.shared:
            return
        while self._queue and self._queued_rows < self._policy.max_rows and not self._closed:
            left = self._queue[0].arrived + self._policy.linger_s - self._clock.monotonic()
            if left <= 0:
                return
            self._changed.wait(left)

    def _take(self) -> list[Pending]:
        batch: list[Pending] = []
        rows = 0
        while self._queue:
            pending = self._queue[0]
            if batch and (rows + pending.call.n > self._policy.max_rows or not self._policy.shared):
                break
            self._queue.popleft()
            self._queued_rows -= pending.call.n
            if not self._dropped(pending):
                batch.append(pending)
                rows += pending.call.n
        return batch

    def _dropped(self, pending: Pending) -> bool:
        if pending.deadline.cancelled:
            self._tally.dropped["cancelled"] += 1
            pending.finish(Cancelled("the caller went away before the model had run"))
        elif pending.deadline.expired:
            self._tally.dropped["deadline"] += 1
            pending.finish(DeadlineExceeded("the deadline passed before the model had run"))
        else:
            return False
        return True

    def _run_batch(self, batch: Sequence[Pending]) -> None:
        calls = [pending.call for pending in batch]
        started = self._clock.monotonic()
        try:
            answers: Sequence[Outputs | NaviError] = split(self._run(assemble(calls)), calls)
        except Exception as error:  # the batch worker: whatever a model raises ends with its callers, and is counted
            if len(batch) > 1:
                self._count(batch, started, rerun=True)
                self._run_each(batch)
                return
            answers = [_backend_error(error)]
        self._count(batch, started, failed=isinstance(answers[0], NaviError))
        for pending, answer in zip(batch, answers, strict=True):
            pending.finish(answer)

    def _run_each(self, batch: Sequence[Pending]) -> None:
        for pending in batch:
            with self._changed:
                dropped = self._dropped(pending)
            if not dropped:
                self._run_batch([pending])

    def _count(self, batch: Sequence[Pending], started: float, *, rerun: bool = False, failed: bool = False) -> None:
        rows = sum(pending.call.n for pending in batch)
        seconds = self._clock.monotonic() - started
        with self._changed:
            self._tally.ran(rows, seconds)
            if rerun:
                self._tally.rerun += 1
            elif failed:
                self._tally.failed += 1
            else:
                self._tally.calls += len(batch)
                self._tally.rows += rows
                self._tally.late += sum(pending.deadline.expired for pending in batch)
                self._tally.wait_s += sum(started - pending.arrived for pending in batch)


def _backend_error(error: Exception) -> BackendError:
    if isinstance(error, BackendError):
        return error
    wrapped = BackendError(f"the model failed: {error}")
    wrapped.__cause__ = error
    return wrapped
