"""The seams through which candidates come and go: sources and filters."""

from dataclasses import dataclass
from typing import Protocol

from candidates.context import Context
from navi.core.arrays import F32, I64, Mask
from navi.core.candidates import Candidates


@dataclass(frozen=True, slots=True)
class Fetched:
    """What a source found, best first: table rows int64 [n] without repeats, and its own scores float32 [n]."""

    rows: I64
    scores: F32


class Source(Protocol):
    """Finds candidates for a query. Safe to call from many threads; raises what it likes: it is left out, and said so."""

    @property
    def uses_user(self) -> bool:
        """Whether it reads `context.user`: a source that does not may start before the user's features are there."""
        ...

    def fetch(self, context: Context, quota: int) -> Fetched:
        """At most `quota` candidates."""
        ...


class Filter(Protocol):
    """Decides which candidates may be shown."""

    @property
    def reason(self) -> str:
        """Why a candidate is dropped, as one word for counts (`seen`, `excluded`)."""
        ...

    def keep(self, context: Context, candidates: Candidates) -> Mask:
        """bool [n], False for each candidate to drop."""
        ...
