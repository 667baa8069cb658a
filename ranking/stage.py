"""The seam for a step of the funnel that an application adds."""

from typing import Protocol

from candidates.context import Context
from navi.core.candidates import Candidates


class Stage(Protocol):
    """Scores, reorders or drops candidates. Safe to call from many threads."""

    def run(self, context: Context, candidates: Candidates) -> Candidates:
        """Candidates with columns added, in a new order, or fewer of them; never more."""
        ...
