"""Names of the columns that the funnel's steps give to candidates."""

from candidates.blend import BLEND
from navi.core.arrays import Array
from navi.core.candidates import Candidates

COARSE = "coarse"
SCORE = "score"
TASK_PREFIX = "task."

BEST_FIRST = (SCORE, COARSE, BLEND)
"""What orders candidates: the first of these that they have."""


def task_columns(candidates: Candidates) -> dict[str, Array]:
    """Scores of each task that was scored, [n], by the task's name."""
    return {
        name.removeprefix(TASK_PREFIX): values
        for name, values in candidates.columns.items()
        if name.startswith(TASK_PREFIX)
    }
