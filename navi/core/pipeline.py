"""What the engine needs of an application: the seam that a bundle's factory fills."""

from collections.abc import Sequence
from typing import Protocol

from navi.core.errors import NaviError
from navi.core.query import Query
from navi.core.ranking import Ranking, Scores


class Pipeline(Protocol):
    """Ranks queries. Safe to call from many threads.

    Lists in, lists out, position for position: a query that fails is answered by its error and harms no other.
    """

    @property
    def name(self) -> str: ...

    def rank_many(self, queries: Sequence[Query]) -> list[Ranking | NaviError]:
        """The best k for each query."""
        ...

    def score_many(self, queries: Sequence[Query]) -> list[Scores | NaviError]:
        """Scores for each query's supplied candidates, in their order; nothing is filtered."""
        ...

    def close(self) -> None: ...
