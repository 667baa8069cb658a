"""A pipeline that does nothing: what is left is the cost of the server around it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from navi.bundle.bundle import Bundle
from navi.core.errors import NaviError
from navi.core.ids import Ids
from navi.core.query import Query
from navi.core.ranking import Ranking, Scores


@dataclass(frozen=True, slots=True)
class Empty:
    """Answers every query with an empty list."""

    name: str

    def rank_many(self, queries: Sequence[Query]) -> list[Ranking | NaviError]:
        return [_ranking(query) for query in queries]

    def score_many(self, queries: Sequence[Query]) -> list[Scores | NaviError]:
        return [_scores(query) for query in queries]

    def close(self) -> None:
        """Holds nothing."""


def build(bundle: Bundle, name: str, options: Mapping[str, Any]) -> Empty:  # noqa: ARG001 - as every factory
    """The factory that a `navi.toml` names as `navi.bench.empty:build`; takes no options."""
    return Empty(name)


def _ranking(query: Query) -> Ranking:
    return Ranking(
        ids=Ids.empty(),
        scores=np.empty(0, dtype=np.float32),
        sources=np.empty(0, dtype=np.uint32),
        source_names=(),
        tasks={},
        stages=(),
        models={},
        degradations=(),
        shortfall={},
        as_of=query.as_of,
        seed=query.seed,
    )


def _scores(query: Query) -> Scores:
    return Scores(
        scores=np.zeros(query.k, dtype=np.float32),
        tasks={},
        status=np.zeros(query.k, dtype=np.uint8),
        stages=(),
        models={},
        degradations=(),
        as_of=query.as_of,
    )
