"""A live bundle as the services use it."""

from contextlib import AbstractContextManager
from dataclasses import dataclass

from navi.bundle.live import Live
from navi.core.query import Query
from navi.core.ranking import Ranking, Scores
from navi.server.engine import Pipelines
from navi.server.shadowing import Shadows


@dataclass(frozen=True, slots=True)
class LiveEngine:
    """An `Engine`: each call has the generation of its key."""

    live: Live
    shadows: Shadows

    def serving(self, key: str) -> AbstractContextManager[Pipelines]:
        return self.live.serving(key)

    def answered(self, pipeline: str, query: Query, answer: Ranking | Scores) -> None:
        if self.live.keeper.routes.shadows:
            self.shadows.answered(pipeline, query, answer)
