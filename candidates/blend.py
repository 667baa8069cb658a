"""Many sources' lists become one: each candidate once, with a record of who brought it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from candidates.source import Fetched
from navi.core.arrays import F64, I64
from navi.core.candidates import Candidates
from navi.ops import top_k

BlendMethod: TypeAlias = Literal["reciprocal_rank_fusion", "weighted_round_robin"]

BLEND = "blend"
"""The column that merging adds: the fused score, float32, the greater the better."""

_RANK_BITS = 24  # room for 16 million places in all lists together, which leaves 39 bits for the row


@dataclass(frozen=True, slots=True, kw_only=True)
class Blend:
    """How a pipeline merges its sources, which it names by position.

    weights: one a source, positive. guaranteed: positions of sources whose candidates `limit` never cuts (those that
    the caller supplied: who names a candidate has it considered). They take places from the rest, whose best stay;
    where they alone are more than `limit`, all of them pass and nothing else does.
    """

    method: BlendMethod
    weights: tuple[float, ...]
    limit: int
    guaranteed: frozenset[int] = frozenset()

    def merge(self, lists: Sequence[Fetched]) -> tuple[Candidates, Candidates]:
        """(all candidates, best first, ties by row; those of them within `limit`), from one list a source, empty where
        it was left out."""
        fuse = reciprocal_rank_fusion if self.method == "reciprocal_rank_fusion" else weighted_round_robin
        merged = fuse(lists, self.weights)
        if len(merged) <= self.limit:
            return merged, merged
        return merged, _cut(merged, self.limit, sum(1 << source for source in self.guaranteed))


def reciprocal_rank_fusion(lists: Sequence[Fetched], weights: Sequence[float], *, constant: float = 60.0) -> Candidates:
    """Candidates by the sum over the lists of weight / (constant + rank), rank from 1, best first, ties by row.

    Cormack, Clarke, Buettcher: Reciprocal Rank Fusion outperforms Condorcet and individual Rank Learning Methods,
    SIGIR 2009, where the constant is 60. Adds the column `blend`.
    """
    gains = [weight / (constant + _ranks(found)) for found, weight in zip(lists, weights, strict=True)]
    return _fused(lists, gains, np.add)


def weighted_round_robin(lists: Sequence[Fetched], weights: Sequence[float]) -> Candidates:
    """Candidates in turns, each source as often as its weight says; one brought by several comes at its earliest turn.

    Turns go by weight / (rank - 1/2), the greatest first (the divisors of Webster and Sainte-Lague): among the first n
    candidates, as long as no list has ended, each source has brought its weight's share to within one. Adds the
    column `blend`.
    """
    gains = [weight / (_ranks(found) - 0.5) for found, weight in zip(lists, weights, strict=True)]
    return _fused(lists, gains, np.maximum)


def _ranks(found: Fetched) -> F64:
    return np.arange(1, len(found.rows) + 1, dtype=np.float64)


def _fused(lists: Sequence[Fetched], gains: Sequence[F64], combine: np.ufunc) -> Candidates:
    """One candidate for each distinct row, its gains combined and its sources or-ed, in the total order."""
    rows = np.concatenate([found.rows for found in lists])
    if len(rows) == 0:
        return Candidates.empty().with_column(BLEND, np.empty(0, dtype=np.float32))
    brought = np.repeat(np.left_shift(1, np.arange(len(lists))).astype(np.uint32), [len(found.rows) for found in lists])
    order, starts = _grouped(rows)
    score = combine.reduceat(np.concatenate(gains)[order], starts).astype(np.float32)
    sources = np.bitwise_or.reduceat(brought[order], starts)
    distinct = rows[order[starts]]
    best = top_k(score, distinct, len(distinct))
    return Candidates(distinct[best], sources[best], {BLEND: score[best]})


def _grouped(rows: I64) -> tuple[I64, I64]:
    """(positions [n] that put equal rows side by side, in their order; where each group starts)."""
    # Sorting row and position packed into one integer is several times faster than a stable argsort.
    packed = np.sort((rows << _RANK_BITS) | np.arange(len(rows), dtype=np.int64))
    ordered = packed >> _RANK_BITS
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    return packed & ((1 << _RANK_BITS) - 1), starts


def _cut(merged: Candidates, limit: int, guaranteed: int) -> Candidates:
    safe = (merged.sources & np.uint32(guaranteed)) != 0
    room = max(limit - int(safe.sum()), 0)
    return merged.take(safe | (np.cumsum(~safe) <= room))
