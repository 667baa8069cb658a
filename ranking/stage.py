"""The seam for a step of the funnel that an application adds."""

from typing import Protocol

from candidates.context import Context
from navi.core.candidates import Candidates


class Stage(Protocol):
    """Scores, reorders or drops candidates. Safe to call from many threads.

    One that draws at random draws from `context.query.seed`, and writes the probabilities as the column
    `ranking.columns.PROPENSITY`, for the request log.
    """

    def run(self, context: Context, candidates: Candidates) -> Candidates:
        """Candidates with columns added, in a new order, or fewer of them; never more, and never others."""
        ...
