"""Names of the columns that the funnel's steps give to candidates."""

from candidates.blend import BLEND
from navi.core.arrays import Array
from navi.core.candidates import Candidates

COARSE = "coarse"
SCORE = "score"
TASK_PREFIX = "task."

PROPENSITY = "propensity"
"""Written by a policy stage that draws at random from the query's seed: for each candidate the probability, in (0, 1],
that it stands where it stands, given the query and the models. A second such stage multiplies it by its own. It is
logged with the answer, so that training can weigh by its inverse; it changes nothing in the ranking."""

BEST_FIRST = (SCORE, COARSE, BLEND)
"""What orders candidates: the first of these that they have."""


def task_columns(candidates: Candidates) -> dict[str, Array]:
    """Scores of each task that was scored, [n], by the task's name."""
    return {
        name.removeprefix(TASK_PREFIX): values
        for name, values in candidates.columns.items()
        if name.startswith(TASK_PREFIX)
    }
