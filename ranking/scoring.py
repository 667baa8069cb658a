"""Coarse scores, the heavy model's scores, and the one score that they are combined to."""

from dataclasses import replace
from functools import partial

import numpy as np

from candidates.context import Context
from candidates.gather import OVERLOAD
from candidates.lookup import rows_of
from navi.core.arrays import F32, I64, U8
from navi.core.candidates import Candidates
from navi.core.errors import InvalidArgument, StageError
from navi.core.query import Query, Supplied
from navi.core.ranking import RowStatus, Scores
from navi.ops import top_k
from ranking.columns import BEST_FIRST, SCORE, task_columns
from ranking.effort import share_kept
from ranking.hydration import hydrate
from ranking.runner import Outcome, Runner
from ranking.steps import Step, Steps


def coarse(run: Runner, context: Context, candidates: Candidates, steps: Steps) -> Candidates:
    """The best `keep` by the coarse score, best first; by the sources' order where there is none, or no time for it."""
    if steps.coarse is not None and len(candidates) > 0:
        if context.query.effort.level == "fallback":
            run.degrade(steps.coarse.name, OVERLOAD, "the sources' order stands", rows=len(candidates))
        else:
            candidates = run.stage(steps.coarse.name, steps.coarse.stage, context, candidates)
    return _cut(run, candidates, steps.keep, "cut", "below_cut")


def rerank(run: Runner, context: Context, candidates: Candidates, steps: Steps) -> Candidates:
    """The candidates with each task's score and with `score`, which keeps the order where the model cannot answer.

    Under load fewer candidates, or the order so far, as the query's effort says.
    """
    if len(candidates) == 0:
        return candidates.with_column(SCORE, np.empty(0, dtype=np.float32))
    if steps.rerank is not None:
        candidates = _scored(run, context, candidates, steps.rerank, steps.combine)
    if SCORE not in candidates.columns:
        candidates = candidates.with_column(SCORE, spaced(candidates))
    _count_non_finite(run, candidates)
    return candidates


def _scored(run: Runner, context: Context, candidates: Candidates, ranker: Step, combine: Step) -> Candidates:
    """The candidates with the model's scores, as far as the query may cost them."""
    query, n = context.query, len(candidates)
    if query.effort.level in ("coarse", "fallback"):
        run.degrade(ranker.name, OVERLOAD, "the order so far stands", rows=n)
        return candidates
    some = share_kept(query, n)
    if some < n:
        run.degrade(ranker.name, OVERLOAD, f"the best {some} of {n} are re-ranked", rows=n - some)
        candidates = _cut(run, candidates, some, "trim", OVERLOAD)
    scored = run.stage(ranker.name, ranker.stage, context, candidates, share=ranker.share)
    if scored is candidates:
        return candidates
    return run.stage(combine.name, combine.stage, context, scored)


def _cut(run: Runner, candidates: Candidates, limit: int, stage: str, reason: str) -> Candidates:
    """The best `limit` in the order so far, best first; all of them as they are, and no word of it, where they fit."""
    if len(candidates) <= limit:
        return candidates

    def cut() -> Outcome[Candidates]:
        best = candidates.take(top_k(order_scores(candidates), candidates.rows, limit))
        run.follow(stage, reason, candidates, best)
        return Outcome(best, limit, {reason: len(candidates) - limit})

    return run.required(stage, len(candidates), cut)


def score_supplied(run: Runner, query: Query, steps: Steps) -> Scores:
    """Scores position for position; an unknown item has none. What fails ends the query: there is no fall-back."""
    if query.supplied is None or len(query.supplied.ids) == 0:
        raise InvalidArgument("candidates", "are missing: Score scores the candidates given")
    rows = rows_of(steps.table, query.supplied.ids, field="candidates.ids")
    known = np.flatnonzero(rows >= 0)
    asked = query if len(known) == len(rows) else replace(query, supplied=_taken(query.supplied, known))
    context = hydrate(run, asked, steps)
    candidates = Candidates(rows[known], np.zeros(len(known), dtype=np.uint32))
    for step in steps.scoring():
        candidates = run.required(step.name, len(candidates), partial(_outcome, step, context, candidates))
    score = np.full(len(rows), np.nan, dtype=np.float32)
    if len(known):
        score[known] = order_scores(candidates)
    return Scores(
        scores=score,
        tasks=_tasks(candidates, known, len(rows)),
        status=_status(rows, score),
        stages=tuple(run.stages),
        models=steps.versions(),
        degradations=tuple(run.degradations),
        as_of=query.as_of,
    )


def order_scores(candidates: Candidates) -> F32:
    """The column that says how good the candidates are so far."""
    for name in BEST_FIRST:
        if name in candidates.columns:
            return candidates.columns[name]
    raise StageError("order", "there is no column to order candidates by")


def spaced(candidates: Candidates) -> F32:
    """Scores in (0, 1], evenly spaced, in the order so far: what policy can work on where no model has scored."""
    n = len(candidates)
    order = top_k(order_scores(candidates), candidates.rows, n)
    scores = np.empty(n, dtype=np.float32)
    scores[order] = (n - np.arange(n, dtype=np.float32)) / np.float32(n)
    return scores


def _taken(supplied: Supplied, positions: I64) -> Supplied:
    columns = {name: column.take(positions) for name, column in supplied.columns.items()}
    return Supplied(ids=supplied.ids.take(positions), columns=columns)


def _outcome(step: Step, context: Context, candidates: Candidates) -> Outcome[Candidates]:
    after = step.stage.run(context, candidates)
    if after.rows is not candidates.rows and not np.array_equal(after.rows, candidates.rows):
        raise StageError(step.name, "changed the candidates that it was to score")
    return Outcome(after, len(after))


def _count_non_finite(run: Runner, candidates: Candidates) -> None:
    bad = int(np.count_nonzero(~np.isfinite(candidates.columns[SCORE])))
    if bad:
        run.degrade("rerank", "non_finite", f"{bad} scores are not finite and stand last", rows=bad)


def _tasks(candidates: Candidates, known: I64, n: int) -> dict[str, F32]:
    """The tasks' columns spread over n positions: those of the candidates at `known`, NaN elsewhere."""
    if len(known) == n:
        return task_columns(candidates)
    tasks = {}
    for task, values in task_columns(candidates).items():
        tasks[task] = np.full(n, np.nan, dtype=np.float32)
        tasks[task][known] = values
    return tasks


def _status(rows: I64, scores: F32) -> U8:
    status = np.full(len(rows), RowStatus.OK, dtype=np.uint8)
    status[~np.isfinite(scores)] = RowStatus.NON_FINITE
    status[rows < 0] = RowStatus.UNKNOWN_ITEM
    return status
