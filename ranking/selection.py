"""The last step: the best k, and what is said about them."""

from functools import partial

import numpy as np

from candidates.context import Context
from navi.core.candidates import Candidates
from navi.core.ranking import Ranking, StageReport
from navi.ops import top_k
from ranking.columns import SCORE, task_columns
from ranking.runner import Outcome, Runner
from ranking.served_features import served
from ranking.steps import Steps


def select(run: Runner, context: Context, candidates: Candidates, steps: Steps) -> Ranking:
    """The best k by `score`, ties by id, non-finite scores last."""
    query = context.query

    def work() -> Outcome[Candidates]:
        best = top_k(candidates.columns[SCORE], candidates.rows, query.k)
        rest, first = len(candidates) - len(best), candidates.take(best)
        run.follow("select", "beyond_k", candidates, first)
        return Outcome(first, len(best), {"beyond_k": rest} if rest else {})

    chosen = run.required("select", len(candidates), work)
    return Ranking(
        ids=steps.table.ids.take(chosen.rows),
        scores=chosen.columns[SCORE].astype(np.float32, copy=False),
        sources=chosen.sources,
        source_names=tuple(entry.name for entry in steps.sources),
        tasks=task_columns(chosen),
        stages=tuple(run.stages),
        models=steps.versions(),
        degradations=tuple(run.degradations),
        shortfall=shortfall(run.stages, missing=query.k - len(chosen)),
        as_of=query.as_of,
        seed=query.seed,
        explanation=None if run.trail is None else run.trail.explanation(chosen, steps.table.ids),
        served=partial(served, context, chosen),
    )


def shortfall(stages: list[StageReport], *, missing: int) -> dict[str, int]:
    """Why there are fewer than k, where there are: what each stage dropped by reason, and how many are missing."""
    if missing <= 0:
        return {}
    reasons = {"too_few_candidates": missing}
    for stage in stages:
        for reason, count in stage.dropped.items():
            reasons[reason] = reasons.get(reason, 0) + count
    return reasons
