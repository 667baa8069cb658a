"""Rows of different lengths, kept as one flat array and the offsets of the rows in it."""

import numpy as np

from navi.core.arrays import I64, Array


def offsets_of(lengths: Array) -> I64:
    """Offsets int64 [n + 1] of rows that have these lengths [n]."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def take_ragged(offsets: I64, index: Array) -> tuple[I64, I64]:
    """What `rows[index]` is for ragged rows: (positions into the flat values, offsets of the taken rows).

    offsets: int64 [n + 1]. index: int64 [m], or a mask [n].
    """
    starts = offsets[:-1][index]
    lengths = offsets[1:][index] - starts
    taken = offsets_of(lengths)
    inside = np.arange(taken[-1], dtype=np.int64) - np.repeat(taken[:-1], lengths)
    return np.repeat(starts, lengths) + inside, taken
