"""Items whose vectors lie nearest to the user's: retrieval by a two-tower model."""

from dataclasses import dataclass
from typing import Literal

from candidates.context import Context
from candidates.parts import Parts
from candidates.source import Fetched
from candidates.user_vector import user_vector
from candidates.vector_index import VectorIndex
from navi.batching.scorer import Scorer
from navi.core.arrays import F32
from navi.core.errors import ConfigError
from navi.features.item_vectors import ItemVectors
from navi.ops import gather_dot_top_k


@dataclass(frozen=True, slots=True, eq=False)
class EmbeddingSource:
    """Items by inner product with the user's vector, ties by row; nothing for a user who is not known.

    matrix: float32 [items, D]. index: what chooses the rows whose products are computed; None: all rows. A row's
    score is the same to the bit either way.
    """

    scorer: Scorer
    matrix: F32
    index: VectorIndex | None

    @property
    def uses_user(self) -> bool:
        return True

    def fetch(self, context: Context, quota: int) -> Fetched:
        if not context.user_found:
            return Fetched.nothing()
        vector = user_vector(context, self.scorer)
        if self.index is None:
            return Fetched(*gather_dot_top_k(self.matrix, None, vector, quota))
        rows = self.index.search(vector, quota)
        positions, scores = gather_dot_top_k(self.matrix, rows, vector, quota)
        return Fetched(rows[positions], scores)


def embedding(
    parts: Parts,
    *,
    model: str,
    vectors: str,
    method: Literal["exact", "approximate"] = "exact",
    index: str | None = None,
) -> EmbeddingSource:
    """model: makes the user's vector. vectors: the items' vectors that the same training made.

    index: for the approximate method, file that `build_index` made, inside the bundle.
    """
    scorer, item_vectors = parts.scorer(model), parts.vectors(vectors)
    _check(parts, scorer, item_vectors)
    if (method == "approximate") != (index is not None):
        raise ConfigError("index", "is given for the approximate method, and only for that")
    opened = None if index is None else VectorIndex.open(parts.path(index), item_vectors)
    return EmbeddingSource(scorer, item_vectors.matrix, opened)


def _check(parts: Parts, scorer: Scorer, vectors: ItemVectors) -> None:
    if vectors.table_digest != parts.table.digest:
        raise ConfigError("vectors", "are those of another table than the pipeline's")
    if vectors.model_digest != scorer.digest:
        raise ConfigError("model", "did not make these vectors: a user's vector means nothing beside them")
