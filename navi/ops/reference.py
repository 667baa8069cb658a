"""The ops once more in numpy, short enough to be seen right: what the kernels are tested against."""

from collections.abc import Sequence

import numpy as np

from navi.core.arrays import F32, I64
from navi.core.ids import Ids, Key


class IdIndex:
    def __init__(self, ids: Ids) -> None:
        self._rows: dict[Key, int] = {}
        keys: Sequence[Key] = ids.tolist()
        for row, key in enumerate(keys):
            if key in self._rows:
                raise ValueError(f"ids: {key!r} is repeated (rows {self._rows[key]} and {row})")
            self._rows[key] = row

    def __len__(self) -> int:
        return len(self._rows)

    def lookup(self, ids: Ids) -> I64:
        keys: Sequence[Key] = ids.tolist()
        return np.array([self._rows.get(key, -1) for key in keys], dtype=np.int64)


def top_k(scores: F32, ties: I64, k: int) -> I64:
    if k < 1:
        raise ValueError(f"k: is {k}, must be at least 1")
    finite = np.isfinite(scores)
    order = np.lexsort((ties, -np.where(finite, scores, 0), ~finite))
    return order[:k].astype(np.int64)


def gather_dot(matrix: F32, rows: I64, query: F32) -> F32:
    """In float64, then rounded: within float32's rounding of what any order of additions gives."""
    if len(rows) and not (rows.min() >= 0 and rows.max() < len(matrix)):
        raise IndexError("rows: not all are in the matrix")
    with np.errstate(all="ignore"):
        scores: F32 = (matrix[rows].astype(np.float64) * query).sum(axis=1).astype(np.float32)
    return scores


def gather_dot_top_k(matrix: F32, rows: I64 | None, query: F32, k: int, *, ties: I64 | None = None) -> tuple[I64, F32]:
    rows = np.arange(len(matrix)) if rows is None else rows
    scores = gather_dot(matrix, rows, query)
    positions = top_k(scores, rows if ties is None else ties, k)
    return positions, scores[positions]
