"""The seam between the services and the pipelines that they call, which may be replaced while they serve."""

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Protocol

from navi.core.pipeline import Pipeline
from navi.core.query import Query
from navi.core.ranking import Ranking, Scores


class Pipelines(Protocol):
    """What one call uses, from its beginning to its end."""

    @property
    def pipelines(self) -> Mapping[str, Pipeline]: ...


class Engine(Protocol):
    """Safe to use from many threads."""

    def serving(self, key: str) -> AbstractContextManager[Pipelines]:
        """The pipelines for a call, held for the block. key: decides where traffic is split."""
        ...

    def answered(self, pipeline: str, query: Query, answer: Ranking | Scores) -> None:
        """A pipeline answered so: it may be asked once more, in the background, for comparison. Must be quick."""
        ...


@dataclass(frozen=True, slots=True)
class FixedEngine:
    """The same pipelines for all calls."""

    pipelines: Mapping[str, Pipeline]

    def serving(self, key: str) -> AbstractContextManager[Pipelines]:  # noqa: ARG002 - nothing is split
        return nullcontext(self)

    def answered(self, pipeline: str, query: Query, answer: Ranking | Scores) -> None:
        """Nothing is compared."""
