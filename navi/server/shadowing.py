"""Answers compared with those of another version: after the reply, and never in its place."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from navi.bundle.live import Live
from navi.bundle.routes import Shadowing, place_of
from navi.core.arrays import F32, F64, I64
from navi.core.deadline import Deadline
from navi.core.errors import FaultError, NaviError
from navi.core.ids import Ids
from navi.core.model_state import ShadowInfo
from navi.core.priority import Priority
from navi.core.query import Query
from navi.core.ranking import Ranking, Scores
from navi.server.background import Background
from navi.server.shadow_metrics import ShadowMetrics

_LOG = logging.getLogger(__name__)

_WAITING = 32
"""Answers that wait to be compared; further ones are left out, and counted."""

_SPENT_S = 10.0
"""What a comparison may take."""


@dataclass(frozen=True, slots=True)
class _Answered:
    shadowing: Shadowing
    pipeline: str
    query: Query
    answer: Ranking | Scores


@dataclass(frozen=True, slots=True)
class Difference:
    """Between two answers to a query, over the items that both have.

    mean, largest: of |a - b| over the tasks' scores, or over the scores where no task was scored; NaN where there is
    nothing to compare. correlation: Spearman's, of the scores; NaN for fewer than three items.
    """

    mean: float
    largest: float
    correlation: float


@dataclass(slots=True)
class _Sums:
    compared: int = 0
    failed: int = 0
    mean: float = 0.0
    largest: float = 0.0
    correlated: int = 0
    correlation: float = 0.0


class Shadows:
    """Lets shadow versions answer a share of the queries once more, one at a time, behind all other work."""

    def __init__(self, live: Live, metrics: ShadowMetrics) -> None:
        self._live = live
        self._metrics = metrics
        self._sums: dict[tuple[str, int], _Sums] = {}
        self._work = Background("shadow", self._compare, limit=_WAITING, failed=self._failed)

    def start(self) -> "Shadows":
        self._work.start()
        return self

    def close(self) -> None:
        self._work.close()

    def answered(self, pipeline: str, query: Query, answer: Ranking | Scores) -> None:
        """See `Engine.answered`."""
        for each in self._live.keeper.routes.shadows:
            if place_of(f"shadow {each.model}", query.request_id) >= each.share or each.model not in answer.models:
                continue
            if not self._work.put(_Answered(each, pipeline, query, answer)):
                self._metrics.left(each.model, "left_out")

    def report(self, model: str) -> ShadowInfo | None:
        """How the shadow of a model compares, in this process; None where it has none."""
        each = next((each for each in self._live.keeper.routes.shadows if each.model == model), None)
        if each is None:
            return None
        sums = self._sums.get((model, each.version), _Sums())
        return ShadowInfo(
            version=each.version,
            share=each.share,
            compared=sums.compared,
            failed=sums.failed,
            mean_difference=sums.mean / max(sums.compared, 1),
            largest_difference=sums.largest,
            rank_correlation=sums.correlation / sums.correlated if sums.correlated else np.nan,
        )

    def _compare(self, answered: _Answered) -> None:
        shadowing, keeper = answered.shadowing, self._live.keeper
        if not keeper.acquire_this(shadowing.generation):
            return
        try:
            other = _again(answered)
        finally:
            keeper.release(shadowing.generation)
        difference = difference_of(answered.query, answered.answer, other)
        if np.isnan(difference.mean):
            self._metrics.left(shadowing.model, "nothing_in_common")
            return
        self._count(shadowing, difference)

    def _count(self, shadowing: Shadowing, difference: Difference) -> None:
        model = shadowing.model
        sums = self._sums.setdefault((model, shadowing.version), _Sums())
        sums.compared += 1
        sums.mean += difference.mean
        sums.largest = max(sums.largest, difference.largest)
        correlation = difference.correlation
        if not np.isnan(correlation):
            sums.correlated += 1
            sums.correlation += correlation
        self._metrics.compared(model, mean=difference.mean, largest=sums.largest, correlation=correlation)

    def _failed(self, answered: _Answered) -> None:
        shadowing = answered.shadowing
        self._sums.setdefault((shadowing.model, shadowing.version), _Sums()).failed += 1
        self._metrics.left(shadowing.model, "failed")


def difference_of(query: Query, one: Ranking | Scores, other: Ranking | Scores) -> Difference:
    """How two answers to a query differ."""
    ours, theirs = _common(_ids(query, one), _ids(query, other))
    tasks = [(one.tasks[name][ours], other.tasks[name][theirs]) for name in one.tasks if name in other.tasks]
    sizes = _sizes(tasks)
    if not len(sizes):
        sizes = _sizes([(one.scores[ours], other.scores[theirs])])
    if not len(sizes):
        return Difference(np.nan, np.nan, np.nan)
    correlation = _spearman(one.scores[ours], other.scores[theirs])
    return Difference(float(sizes.mean()), float(sizes.max()), correlation)


def _again(answered: _Answered) -> Ranking | Scores:
    """What the shadow answers."""
    generation = answered.shadowing.generation
    deadline = Deadline.after(_SPENT_S, generation.bundle.clock)
    query = replace(answered.query, deadline=deadline, priority=Priority.BACKFILL, explain=False)
    pipeline = generation.pipelines[answered.pipeline]
    ranked = isinstance(answered.answer, Ranking)
    answer = (pipeline.rank_many([query]) if ranked else pipeline.score_many([query]))[0]
    if isinstance(answer, NaviError):
        raise FaultError(f"the shadow of {answered.shadowing.model!r} cannot answer: {answer}") from answer
    return answer


def _ids(query: Query, answer: Ranking | Scores) -> Ids:
    if isinstance(answer, Ranking):
        return answer.ids
    assert query.supplied is not None
    return query.supplied.ids


def _common(one: Ids, other: Ids) -> tuple[I64, I64]:
    """Positions of the items that both have, the first of each, side by side."""
    first, second = _first_positions(one), _first_positions(other)
    both = [key for key in first if key in second]
    return np.array([first[key] for key in both], dtype=np.int64), np.array(
        [second[key] for key in both], dtype=np.int64
    )


def _first_positions(ids: Ids) -> Mapping[object, int]:
    found: dict[object, int] = {}
    for position, key in enumerate(ids.tolist()):
        found.setdefault(key, position)
    return found


def _sizes(pairs: list[tuple[F32, F32]]) -> F64:
    if not pairs:
        return np.empty(0)
    sizes: F64 = np.concatenate([np.abs(a.astype(np.float64) - b) for a, b in pairs])
    return sizes[np.isfinite(sizes)]


def _spearman(a: F32, b: F32) -> float:
    """The correlation of ranks; NaN for fewer than three finite pairs, and where one side has a single value."""
    finite = np.isfinite(a) & np.isfinite(b)
    a, b = a[finite], b[finite]
    if len(a) < 3:
        return np.nan
    ranks = [_ranks(values) for values in (a, b)]
    if any(rank.std() == 0 for rank in ranks):
        return np.nan
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


def _ranks(values: F32) -> F64:
    """Mean ranks: ties share theirs."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks: F64 = ((last - counts) + (last - 1))[inverse] / 2.0
    return ranks
