"""The best k of many scores, under the one total order by which everything here is ranked."""

import numpy as np

from navi.core.arrays import F32, I64
from navi.ops import checks
from navi.ops.native import native


def top_k(scores: F32, ties: I64, k: int) -> I64:
    """Positions int64 [min(k, n)] of the best scores, best first.

    scores: float32 [n], n < 2^32. Finite scores go first, descending, -0.0 as 0.0; NaN and infinities of either
        sign follow as equals.
    ties: int64 [n]; equal scores stand by it, ascending, and where it repeats by position.
    Arrays that are not contiguous are copied.

    Raises ValueError for k < 1 or lengths that differ, TypeError for another dtype.
    """
    scores = checks.vector("scores", scores, np.float32)
    ties = checks.vector("ties", ties, np.int64, length=len(scores))
    positions = np.empty(min(checks.count("k", k), len(scores)), dtype=np.int64)
    if len(positions):
        native.top_k(scores, ties, len(positions), positions)
    return positions
