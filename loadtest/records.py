"""All calls of a run as the coordinator knows them: arrays, put together from the processes' chunks."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from loadtest.messages import Chunk
from loadtest.result import OUTCOMES, Generator, Outcome
from navi.core.arrays import F64, U8, Mask


@dataclass(slots=True)
class Records:
    """Grows by `add`.

    chunks: with the process that sent each. generators: of processes that ended well. problems: what went wrong.
    distinct: requests that were made.
    """

    chunks: list[tuple[int, Chunk]] = field(default_factory=list)
    generators: list[Generator] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    distinct: int = 0
    calls: int = 0
    outcomes: dict[Outcome, int] = field(default_factory=lambda: dict.fromkeys(OUTCOMES, 0))
    server_seconds: float | None = None

    def add(self, process: int, chunk: Chunk) -> None:
        if len(chunk.due):
            self.chunks.append((process, chunk))
            self.calls += len(chunk.due)
            for number, count in enumerate(np.bincount(chunk.outcome, minlength=len(OUTCOMES))):
                self.outcomes[OUTCOMES[number]] += int(count)

    def table(self) -> "Calls":
        return Calls.of([chunk for _, chunk in self.chunks])

    def connections(self) -> dict[str, int]:
        """Calls by "process/number"."""
        counts: Counter[str] = Counter()
        for process, chunk in self.chunks:
            numbers, calls = np.unique(chunk.connection, return_counts=True)
            counts.update({f"{process}/{number}": int(n) for number, n in zip(numbers, calls, strict=True)})
        return dict(sorted(counts.items(), key=lambda one: tuple(map(int, one[0].split("/")))))

    def stages(self) -> dict[str, F64]:
        """Seconds by stage, float64 [calls that reported it], in the order in which the server reported them."""
        names = dict.fromkeys(name for _, chunk in self.chunks for name in chunk.stages)
        return {
            name: np.concatenate([chunk.stages[name] for _, chunk in self.chunks if name in chunk.stages])
            for name in names
        }

    def errors(self, most: int) -> dict[str, int]:
        counts: Counter[str] = Counter()
        for _, chunk in self.chunks:
            counts.update(chunk.errors)
        return dict(counts.most_common(most))


@dataclass(frozen=True, slots=True)
class Calls:
    """Columns of calls, all [calls]: times float64, in seconds from the start; outcome uint8, index into `OUTCOMES`."""

    due: F64
    sent: F64
    ended: F64
    outcome: U8

    @classmethod
    def of(cls, chunks: Sequence[Chunk]) -> "Calls":
        none = np.empty(0)
        return cls(
            np.concatenate([none, *(chunk.due for chunk in chunks)]),
            np.concatenate([none, *(chunk.sent for chunk in chunks)]),
            np.concatenate([none, *(chunk.ended for chunk in chunks)]),
            np.concatenate([none.astype(np.uint8), *(chunk.outcome for chunk in chunks)]),
        )

    @property
    def answered(self) -> Mask:
        return self.outcome <= OUTCOMES.index("degraded")

    def take(self, rows: Mask) -> "Calls":
        return Calls(self.due[rows], self.sent[rows], self.ended[rows], self.outcome[rows])
