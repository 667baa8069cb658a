"""The user's vector, made once a query for every source and stage that wants it."""

import numpy as np

from candidates.context import Context
from navi.batching.scorer import Scorer, ScoringRequest
from navi.core.arrays import F32
from navi.core.errors import BackendError


def user_vector(context: Context, scorer: Scorer) -> F32:
    """float32 [D] by the model of `scorer`; BackendError where it is not finite."""

    def make() -> F32:
        query = context.query
        request = ScoringRequest(
            user=context.user,
            features=query.features,
            as_of=query.as_of,
            deadline=context.deadline,
            priority=query.priority,
        )
        vector = scorer.vector(request)
        if not np.isfinite(vector).all():
            raise BackendError(f"model {scorer.name!r} made a user vector that is not finite")
        return vector

    vector: F32 = context.once(f"vector:{scorer.name}", make)
    return vector
