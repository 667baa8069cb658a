"""One score out of many tasks: a weighted sum that keeps order and is never negative."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from candidates.context import Context
from candidates.parts import Parts
from navi.core.arrays import F32
from navi.core.candidates import Candidates
from navi.core.errors import ConfigError, StageError
from ranking.columns import SCORE, TASK_PREFIX, task_columns

_SHIFT = 0.001
"""Where the positive scores begin; the negative ones are squeezed below it."""


@dataclass(frozen=True, slots=True)
class Combine:
    """Adds the column `score`, float32, from the columns `task.NAME`."""

    weights: Mapping[str, float]

    def run(self, context: Context, candidates: Candidates) -> Candidates:  # noqa: ARG002 - as every stage
        tasks = {task: candidates.columns[f"{TASK_PREFIX}{task}"] for task in self.weights}
        return candidates.with_column(SCORE, combined(tasks, self.weights))


def combined(tasks: Mapping[str, F32], weights: Mapping[str, float]) -> F32:
    """The weighted sum S of tasks' scores [n], moved so that it is never negative and keeps its order.

    With |w| the sum of the weights' sizes and |n| that of the negative ones: max(S, 0) where |w| is 0;
    (S + |n|) / |w| * 0.001 where S is negative; else S + 0.001. (Rule of the published heavy ranker.)
    """
    total = np.zeros(len(next(iter(tasks.values()))), dtype=np.float64)
    for task, weight in weights.items():
        total += weight * tasks[task].astype(np.float64)
    size = sum(abs(weight) for weight in weights.values())
    negative = sum(-weight for weight in weights.values() if weight < 0)
    if size == 0:
        return np.maximum(total, 0.0).astype(np.float32)
    moved = np.where(total < 0, (total + negative) / size * _SHIFT, total + _SHIFT)
    return moved.astype(np.float32)


@dataclass(frozen=True, slots=True)
class Single:
    """Makes the one task's score the `score`; what a funnel does that names no `combine`."""

    def run(self, context: Context, candidates: Candidates) -> Candidates:  # noqa: ARG002 - as every stage
        tasks = list(task_columns(candidates).values())
        if len(tasks) != 1:
            raise StageError("combine", f"the model has {len(tasks)} tasks: say in `combine` how they become one score")
        return candidates.with_column(SCORE, tasks[0])


def single(parts: Parts) -> Single:  # noqa: ARG001 - as every plug-in
    """Takes no options."""
    return Single()


def combine(parts: Parts, *, weights: dict[str, float]) -> Combine:  # noqa: ARG001 - as every plug-in
    """weights: by task; negative for what should not happen."""
    if not weights or not all(np.isfinite(weight) for weight in weights.values()):
        raise ConfigError("weights", "must hold a finite weight for at least one task")
    return Combine(weights)
