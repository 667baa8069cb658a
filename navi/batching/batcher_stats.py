"""What a batcher has done so far."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

DropReason: TypeAlias = Literal["cancelled", "deadline", "late", "refused"]


@dataclass(frozen=True, slots=True)
class BatcherStats:
    """Sums since the start.

    batches: runs of the model. calls, rows: that were run. late: calls of them that ended after their deadline.
    failed: calls that the model failed on. rerun: runs that failed and were run again in parts.
    dropped: calls that were not run: whose caller was gone, whose deadline had passed, that would have ended late, and
    that were refused as they came.
    wait_s: from arrival to the start of a run, summed over calls. run_s: summed over runs. queued: calls that wait now.
    rows_histogram: runs by rows, under the smallest power of two that is not less.
    """

    batches: int
    calls: int
    rows: int
    late: int
    failed: int
    rerun: int
    dropped: Mapping[DropReason, int]
    wait_s: float
    run_s: float
    queued: int
    rows_histogram: Mapping[int, int]


@dataclass(slots=True)
class Tally:
    """The counters behind a snapshot; not safe by itself: its owner holds a lock."""

    batches: int = 0
    calls: int = 0
    rows: int = 0
    late: int = 0
    failed: int = 0
    rerun: int = 0
    wait_s: float = 0.0
    run_s: float = 0.0
    dropped: Counter[DropReason] = field(default_factory=Counter)
    sizes: Counter[int] = field(default_factory=Counter)

    def ran(self, rows: int, seconds: float) -> None:
        """Take in one run of the model, whatever came of it."""
        self.batches += 1
        self.run_s += seconds
        self.sizes[(max(rows, 1) - 1).bit_length()] += 1

    def snapshot(self, queued: int) -> BatcherStats:
        return BatcherStats(
            batches=self.batches,
            calls=self.calls,
            rows=self.rows,
            late=self.late,
            failed=self.failed,
            rerun=self.rerun,
            dropped=dict(self.dropped),
            wait_s=self.wait_s,
            run_s=self.run_s,
            queued=queued,
            rows_histogram={2**size: count for size, count in sorted(self.sizes.items())},
        )
