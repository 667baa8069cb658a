"""Tiny real fakes of a funnel's parts, and a maker of funnels out of them."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from candidates.blend import Blend
from candidates.context import Context
from candidates.gather import Gather, SourceEntry
from candidates.source import Fetched
from navi.core.candidates import Candidates
from navi.core.clock import Clock, SystemClock
from navi.features.item_table import ItemTable
from navi.features.memory_store import MemoryStore
from ranking.funnel import Funnel
from ranking.steps import Step, Steps

ITEMS = 40


@dataclass(frozen=True)
class ListSource:
    """Brings the rows it was made with."""

    rows: list[int]
    uses_user: bool = False

    def fetch(self, context: Context, quota: int) -> Fetched:
        rows = np.array(self.rows[:quota], dtype=np.int64)
        return Fetched(rows, np.zeros(len(rows), dtype=np.float32))


@dataclass(frozen=True)
class FailingSource:
    """Raises what it was made with."""

    error: Exception
    uses_user: bool = False

    def fetch(self, context: Context, quota: int) -> Fetched:
        raise self.error


@dataclass(frozen=True)
class ColumnStage:
    """Writes a column computed from the rows; `calls` holds how many candidates each run was given."""

    column: str
    values: Callable[[np.ndarray], Any]
    calls: list[int] = field(default_factory=list)

    def run(self, context: Context, candidates: Candidates) -> Candidates:
        self.calls.append(len(candidates))
        return candidates.with_column(self.column, np.asarray(self.values(candidates.rows), dtype=np.float32))


@dataclass(frozen=True)
class FailingStage:
    error: Exception

    def run(self, context: Context, candidates: Candidates) -> Candidates:
        raise self.error


@dataclass(frozen=True)
class DropRows:
    """A filter that hides the rows it was made with."""

    rows: frozenset[int]
    reason: str = "hidden"
    uses_user: bool = False

    def keep(self, context: Context, candidates: Candidates) -> np.ndarray:
        return np.array([row not in self.rows for row in candidates.rows.tolist()], dtype=np.bool_)


@dataclass
class FunnelMaker:
    """Makes funnels over the table, and closes them."""

    table: ItemTable
    users: MemoryStore
    made: list[Funnel] = field(default_factory=list)

    def __call__(self, *sources: object, **changes: Any) -> Funnel:
        entries = tuple(
            source if isinstance(source, SourceEntry) else SourceEntry(f"s{at}", source, 1000)  # type: ignore[arg-type]
            for at, source in enumerate(sources or (ListSource(list(range(ITEMS))),))
        )
        chosen: dict[str, Any] = {
            "users": self.users,
            "filters": (),
            "coarse": Step("coarse", ColumnStage("coarse", lambda rows: rows)),
            "keep": 20,
            "rerank": Step("rerank", ColumnStage("task.click", lambda rows: 1.0 / (1.0 + rows))),
            "combine": Step("combine", ColumnStage("score", lambda rows: 1.0 / (1.0 + rows))),
            "policy": (),
            "models": {},
            "blend": Blend(method="reciprocal_rank_fusion", weights=(1.0,) * len(entries), limit=1000),
            **changes,
        }
        clock: Clock = chosen.pop("clock", SystemClock())
        steps = Steps(table=self.table, sources=entries, **chosen)
        gather = Gather(entries, ThreadPoolExecutor(2), clock)
        funnel = Funnel("test", steps, gather, clock, ThreadPoolExecutor(2))
        self.made.append(funnel)
        return funnel
