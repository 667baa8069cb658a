"""The seams through which candidates come and go: sources and filters."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from candidates.context import Context
from navi.core.arrays import F32, I64, Mask
from navi.core.candidates import Candidates


@dataclass(frozen=True, slots=True, eq=False)
class Fetched:
    """What a source found, best first.

    rows: int64 [n], rows of the item table without repeats. scores: float32 [n], its own, comparable among themselves
    only. dropped: what it was asked for and left out, counts by reason.
    """

    rows: I64
    scores: F32
    dropped: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def nothing(cls) -> "Fetched":
        return cls(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32))


class Source(Protocol):
    """Finds candidates for a query. Safe to call from many threads. One that raises is left out, and that is said."""

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

    @property
    def uses_user(self) -> bool:
        """Whether it reads `context.user`: without the user's features it could not hide what it has to."""
        ...

    def keep(self, context: Context, candidates: Candidates) -> Mask:
        """bool [n], False for each candidate to drop."""
        ...
