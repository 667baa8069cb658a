"""The calls that wait for a model, in the order of their turn."""

from collections import Counter
from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from math import ceil, inf

from navi.batching.batch_policy import BatchPolicy
from navi.batching.pending import Pending
from navi.core.learned_time import LearnedTime
from navi.core.priority import Priority


class BatchQueue:
    """By class, and first come, first served within one. Not safe by itself: its owner holds a lock.

    times: what runs take, by their rows; its owner teaches it.
    """

    def __init__(self, policy: BatchPolicy) -> None:
        self.times = LearnedTime(first_share=0.5)
        self._policy = policy
        self._waiting: list[tuple[float, int, Pending]] = []
        self._numbers = count()
        self._rows: Counter[Priority] = Counter()
        self._calls: Counter[Priority] = Counter()

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def rows(self) -> int:
        return self._rows.total()

    @property
    def next_arrived(self) -> float:
        """When the call came whose turn it is."""
        return self._waiting[0][2].arrived

    def put(self, pending: Pending) -> None:
        heappush(self._waiting, (pending.priority.turn(pending.arrived), next(self._numbers), pending))
        self._rows[pending.priority] += pending.call.n
        self._calls[pending.priority] += 1

    def take(self, drop: Callable[[Pending], bool]) -> list[Pending]:
        """The calls of the next run, up to the row budget; a larger one alone. drop: whether a call is left out.

        A run ends before a call with which it would be too late for one that it has.
        """
        batch: list[Pending] = []
        rows, until_s = 0, inf
        while self._waiting:
            pending = self._waiting[0][2]
            if batch and not self._joins(pending, batch[0], rows, until_s):
                break
            self._pop(pending)
            if not drop(pending):
                batch.append(pending)
                rows += pending.call.n
                until_s = min(until_s, pending.deadline.remaining())
        return batch

    def wait_s(self, priority: Priority) -> float:
        """Seconds until a new call of this class would have its turn, once the runs at work have ended."""
        rows = sum(n for rank, n in self._rows.items() if rank <= priority)
        calls = sum(n for rank, n in self._calls.items() if rank <= priority)
        if not calls:
            return 0.0
        runs = min(calls, ceil(rows / self._policy.max_rows)) if self._policy.shared else calls
        return self.times.at(rows / runs) * runs / self._policy.workers

    def _joins(self, pending: Pending, first: Pending, rows: int, until_s: float) -> bool:
        call, policy = pending.call, self._policy
        if not policy.shared or rows + call.n > policy.max_rows or call.group != first.call.group:
            return False
        return self.times.at(rows) > until_s or self.times.at(rows + call.n) <= until_s

    def _pop(self, pending: Pending) -> None:
        heappop(self._waiting)
        self._rows[pending.priority] -= pending.call.n
        self._calls[pending.priority] -= 1
