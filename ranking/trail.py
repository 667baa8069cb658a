"""What `explain` follows: every candidate, from merging to the stage that dropped it or to its place in the answer."""

from dataclasses import dataclass, field

import numpy as np

from candidates.lookup import is_among
from navi.core.arrays import F32, I32, I64, U32, Array
from navi.core.candidates import Candidates
from navi.core.explanation import Explanation
from navi.core.ids import Ids
from ranking.columns import BEST_FIRST


def _none(dtype: type) -> Array:
    return np.empty(0, dtype=dtype)


@dataclass(slots=True)
class Trail:
    """Follows the candidates of one query that asks for it. Each is there once, in order of rows.

    limit: most candidates that the explanation lists. What a source left out by itself is no candidate: its report
    tells how many, not which.
    """

    limit: int
    rows: I64 = field(default_factory=lambda: _none(np.int64))
    sources: U32 = field(default_factory=lambda: _none(np.uint32))
    scores: dict[str, F32] = field(default_factory=dict)
    drops: list[tuple[str, str]] = field(default_factory=list)
    drop: I32 = field(default_factory=lambda: _none(np.int32))
    depth: I32 = field(default_factory=lambda: _none(np.int32))
    best: F32 = field(default_factory=lambda: _none(np.float32))
    steps: int = 0

    def step(self, stage: str, reason: str, before: Candidates, after: Candidates) -> None:
        """A stage made `after` of `before`: keep the columns of both, and why what is no longer there was dropped.

        The `before` of the first step is everything that the sources brought.
        """
        if self.steps == 0:
            self._enter(before)
        self.steps += 1
        self._record(before)
        self._record(after, stage)
        if len(after) < len(before):
            self._drop((stage, reason), before, after)

    def explanation(self, answered: Candidates, ids: Ids) -> Explanation:
        """The answered ones in their order, then the others: who got furthest first, the best score first, ties by id.

        A column is what a stage computed, as it was last; where a stage changed one that was there (diversity the
        score, say), `COLUMN before STAGE` tells what it was. NaN where a candidate did not get that far or the stage
        gave no number; a stage that failed adds no column. ids: those of the item table.
        """
        rest = np.flatnonzero(self.drop >= 0)
        best = np.where(np.isfinite(self.best), self.best, -np.inf)[rest]
        rest = rest[np.lexsort((rest, -best, -self.depth[rest]))]
        listed = np.concatenate([self._places(answered), rest])[: self.limit]
        return Explanation(
            ids=ids.take(self.rows[listed]),
            sources=self.sources[listed],
            scores={name: values[listed] for name, values in self.scores.items()},
            drop=self.drop[listed],
            drops=tuple(self.drops),
            candidates=len(self.rows),
        )

    def _enter(self, everything: Candidates) -> None:
        order = np.argsort(everything.rows)
        self.rows, self.sources = everything.rows[order], everything.sources[order]
        n = len(order)
        self.drop, self.depth = np.full(n, -1, dtype=np.int32), np.zeros(n, dtype=np.int32)
        self.best = np.full(n, np.nan, dtype=np.float32)

    def _record(self, candidates: Candidates, stage: str | None = None) -> None:
        """The columns as they are now. stage: who made them so, where what it changed is to be kept as it was."""
        at, n = self._places(candidates), len(self.rows)
        for name, column in candidates.columns.items():
            values = np.asarray(column)
            if values.shape != at.shape or values.dtype.kind not in "fiub":
                continue
            with np.errstate(over="ignore"):
                now = values.astype(np.float32)
            kept = self.scores.setdefault(name, np.full(n, np.nan, dtype=np.float32))
            was = kept[at]
            if stage and not np.isnan(was).all() and not np.array_equal(was, now, equal_nan=True):
                earlier = self.scores[f"{name} before {stage}"] = np.full(n, np.nan, dtype=np.float32)
                earlier[at] = was
            kept[at] = now

    def _drop(self, why: tuple[str, str], before: Candidates, after: Candidates) -> None:
        if why not in self.drops:
            self.drops.append(why)
        lost = ~is_among(before.rows, after.rows)
        at = self._places(before)[lost]
        self.drop[at], self.depth[at] = self.drops.index(why), self.steps
        for name in BEST_FIRST:
            if name in before.columns:
                self.best[at] = before.columns[name][lost]
                return

    def _places(self, candidates: Candidates) -> I64:
        return np.searchsorted(self.rows, candidates.rows)
