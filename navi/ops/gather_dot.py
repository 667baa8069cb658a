"""Dot products of chosen rows of a resident matrix with one query: coarse scoring and exact retrieval."""

import numpy as np

from navi.core.arrays import F32, I64
from navi.ops import checks
from navi.ops.native import native

_BEST = native.instruction_sets()[0]


def gather_dot(matrix: F32, rows: I64, query: F32) -> F32:
    """Scores float32 [n]: `matrix[rows] @ query`, without the copy of the rows.

    matrix: float32 [N, D] in C order. rows: int64 [n] in 0..N-1, in any order, repeats allowed. query: float32 [D].
    A row's score is the same to the bit whatever other rows are asked for, here and in `gather_dot_top_k`
    (on one kind of processor).

    Raises IndexError naming the first position whose row is not in the matrix, ValueError for another shape or a
    matrix that is not in C order, TypeError for another dtype.
    """
    matrix = checks.matrix("matrix", matrix)
    rows = checks.vector("rows", rows, np.int64)
    query = checks.vector("query", query, np.float32, length=matrix.shape[1])
    scores = np.empty(len(rows), dtype=np.float32)
    native.gather_dot(matrix, rows, query, _BEST, scores)
    return scores


def gather_dot_top_k(matrix: F32, rows: I64 | None, query: F32, k: int, *, ties: I64 | None = None) -> tuple[I64, F32]:
    """The best k of `gather_dot`: (positions int64 [m] into `rows`, their scores float32 [m]), m = min(k, n).

    rows: int64 [n]; None for all rows of the matrix, which makes positions row numbers.
    ties: int64 [n], the order of equal scores as in `top_k`; None for the row numbers.

    Raises as `gather_dot` does, and ValueError for k < 1.
    """
    matrix = checks.matrix("matrix", matrix)
    rows = None if rows is None else checks.vector("rows", rows, np.int64)
    total = len(matrix) if rows is None else len(rows)
    query = checks.vector("query", query, np.float32, length=matrix.shape[1])
    ties = None if ties is None else checks.vector("ties", ties, np.int64, length=total)
    wanted = min(checks.count("k", k), total)
    positions = np.empty(wanted, dtype=np.int64)
    scores = np.empty(wanted, dtype=np.float32)
    if wanted:
        native.gather_dot_top_k(matrix, rows, query, ties, _BEST, positions, scores)
    return positions, scores
