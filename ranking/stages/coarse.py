"""Coarse scoring: the dot product of the user's vector with each candidate's, all of them resident."""

from dataclasses import dataclass

from candidates.context import Context
from candidates.parts import Parts
from candidates.user_vector import user_vector
from navi.batching.scorer import Scorer
from navi.core.arrays import F32
from navi.core.candidates import Candidates
from navi.ops import gather_dot
from ranking.columns import COARSE


@dataclass(frozen=True, slots=True)
class Coarse:
    """Adds the column `coarse`. matrix: float32 [items, D], a row for each row of the item table."""

    scorer: Scorer
    matrix: F32

    def run(self, context: Context, candidates: Candidates) -> Candidates:
        vector = user_vector(context, self.scorer)
        return candidates.with_column(COARSE, gather_dot(self.matrix, candidates.rows, vector))


def coarse(parts: Parts, *, model: str, vectors: str) -> Coarse:
    """model: makes the user's vector. vectors: the items' vectors that the same training made."""
    return Coarse(parts.scorer(model), parts.vectors(vectors).matrix)
