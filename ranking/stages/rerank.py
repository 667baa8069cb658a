"""Re-ranking: the heavy model's score of each task for each candidate."""

from dataclasses import dataclass

from candidates.context import Context
from candidates.parts import Parts
from navi.batching.scorer import Scorer, ScoringRequest
from navi.core.candidates import Candidates
from ranking.columns import TASK_PREFIX
from ranking.supplied_columns import supplied_columns


@dataclass(frozen=True, slots=True)
class Rerank:
    """Adds a column `task.NAME` for each task of the model."""

    scorer: Scorer

    def run(self, context: Context, candidates: Candidates) -> Candidates:
        query = context.query
        request = ScoringRequest(
            user=context.user,
            features=query.features,
            as_of=query.as_of,
            deadline=context.deadline,
            priority=query.priority,
        )
        columns = supplied_columns(query.supplied, context.table, candidates.rows)
        scores = self.scorer.score(request, candidates.rows, columns)
        added = {f"{TASK_PREFIX}{task}": values for task, values in scores.items()}
        return Candidates(candidates.rows, candidates.sources, {**candidates.columns, **added})


def rerank(parts: Parts, *, model: str) -> Rerank:
    """model: one of the bundle's models with tasks, reading its items from the pipeline's table."""
    return Rerank(parts.scorer(model))
