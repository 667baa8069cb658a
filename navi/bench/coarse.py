"""Coarse scoring and top-k against numpy and BLAS, on the same rows of the same matrix."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from navi.bench.measurement import Measure, of_runs
from navi.core.arrays import F32, I64
from navi.core.errors import FaultError
from navi.ops import gather_dot_top_k

ID_SETS = 8
"""Sets of candidates that take turns, one op half the circle behind the other: neither finds its rows in cache."""
TOLERANCE = 1e-4


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """items x dims is the matrix; `candidates` random rows of it are scored, and the best k kept."""

    items: int
    candidates: int
    dims: int
    k: int


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """What both ops are given. buffer: the rows that numpy gathers, [candidates, dims]."""

    matrix: F32
    query: F32
    chosen: Sequence[I64]
    buffer: F32
    k: int

    @classmethod
    def of(cls, sizes: Sizes, seed: int) -> "Case":
        random = np.random.default_rng(seed)
        matrix = random.standard_normal((sizes.items, sizes.dims), dtype=np.float32)
        query = random.standard_normal(sizes.dims, dtype=np.float32)
        chosen = [random.choice(sizes.items, sizes.candidates, replace=False) for _ in range(ID_SETS)]
        return cls(matrix, query, chosen, np.empty((sizes.candidates, sizes.dims), dtype=np.float32), sizes.k)

    def ours(self, at: int) -> F32:
        return gather_dot_top_k(self.matrix, self.chosen[at % ID_SETS], self.query, self.k)[1]

    def numpy(self, at: int) -> F32:
        self.matrix.take(self.chosen[at % ID_SETS], axis=0, out=self.buffer, mode="clip")
        return _best(self.buffer @ self.query, self.k)

    def ours_all(self, at: int) -> F32:  # noqa: ARG002 - all rows, whatever the turn
        return gather_dot_top_k(self.matrix, None, self.query, self.k)[1]

    def numpy_all(self, at: int) -> F32:  # noqa: ARG002
        return _best(self.matrix @ self.query, self.k)

    def read(self, at: int) -> F32:  # noqa: ARG002
        """All of the matrix, read by BLAS: the machine's bandwidth, as one process gets it."""
        flat = self.matrix.reshape(-1)
        return np.dot(flat, flat)  # type: ignore[no-any-return]


def measure(sizes: Sizes, *, runs: int, turns: int, seed: int) -> list[Measure]:
    """Ratios and shares, one value a run: a run is the median of `turns` paired turns."""
    case = Case.of(sizes, seed)
    _check(case)
    found = [_run(case, turns) for _ in range(runs)]
    gathered, whole = sizes.candidates * sizes.dims * 4, case.matrix.nbytes
    picked = {name: np.array([one[name] for one in found]) for name in found[0]}
    bandwidth = whole / picked["read"]
    return [
        of_runs(("random rows", "faster than numpy"), "x", picked["numpy"] / picked["ours"], aim=">= 3", headline=True),
        of_runs(
            ("random rows", "share of the memory bandwidth"),
            "share",
            gathered / picked["ours"] / bandwidth,
            aim=">= 70 %",
            headline=True,
        ),
        of_runs(("random rows", "ours"), "ms", picked["ours"] * 1e3),
        of_runs(("random rows", "numpy"), "ms", picked["numpy"] * 1e3),
        of_runs(("all rows", "faster than numpy"), "x", picked["numpy, all"] / picked["ours, all"], headline=True),
        of_runs(("all rows", "share of the memory bandwidth"), "share", whole / picked["ours, all"] / bandwidth),
        of_runs(("all rows", "ours"), "ms", picked["ours, all"] * 1e3),
        of_runs(("all rows", "numpy"), "ms", picked["numpy, all"] * 1e3),
        of_runs(("memory bandwidth", "read in order by BLAS"), "GB/s", bandwidth / 1e9),
    ]


def _run(case: Case, turns: int) -> dict[str, float]:
    """Median seconds of each op. The one behind looks at rows that the one ahead saw half a circle ago."""
    ops: dict[str, Callable[[int], F32]] = {"ours": case.ours, "numpy": case.numpy}
    whole = {"ours, all": case.ours_all, "numpy, all": case.numpy_all, "read": case.read}
    took: dict[str, list[float]] = {name: [] for name in (*ops, *whole)}
    for turn in range(turns):
        for place, (name, op) in enumerate(ops.items()):
            took[name].append(_seconds(op, turn + place * ID_SETS // 2))
    for turn in range(max(turns // 4, 3)):
        for name, op in whole.items():
            took[name].append(_seconds(op, turn))
    return {name: median(seconds) for name, seconds in took.items()}


def _seconds(op: Callable[[int], F32], at: int) -> float:
    started = time.perf_counter()
    op(at)
    return time.perf_counter() - started


def _best(scores: F32, k: int) -> F32:
    return scores[np.argpartition(scores, -k)[-k:]]


def _check(case: Case) -> None:
    """Both give the same best scores, or there is nothing to compare."""
    for ours, theirs in ((case.ours(0), case.numpy(0)), (case.ours_all(0), case.numpy_all(0))):
        if not np.allclose(ours, np.sort(theirs)[::-1], rtol=TOLERANCE, atol=TOLERANCE):
            raise FaultError("the ops do not agree on the best scores: nothing was measured")
