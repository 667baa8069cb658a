"""From a model's outputs to scores by task."""

from collections.abc import Mapping, Sequence

import numpy as np

from navi.core.arrays import F32, Array
from navi.models.spec import OutputSpec


def task_scores(outputs: Sequence[OutputSpec], values: Mapping[str, Array]) -> dict[str, F32]:
    """Each task's probabilities or scores, float32 [n]; outputs of kind `vector` give none."""
    scores: dict[str, F32] = {}
    for output in outputs:
        if output.tasks:
            columns: F32 = values[output.name].reshape(-1, len(output.tasks))
            if output.kind == "logit":
                columns = _sigmoid(columns)
            for index, task in enumerate(output.tasks):
                scores[task] = _corrected(np.ascontiguousarray(columns[:, index]), output.sampling.get(task, 1.0))
    return scores


def _sigmoid(logits: F32) -> F32:
    with np.errstate(over="ignore"):  # exp of a large number is infinite, and the probability 0
        return np.reciprocal(np.float32(1.0) + np.exp(-logits))


def _corrected(probabilities: F32, rate: float) -> F32:
    """p r / (1 - p + r p), where a share r of the negatives was kept in training.

    He et al., Practical Lessons from Predicting Clicks on Ads at Facebook (ADKDD 2014), section 6.3.
    """
    if rate == 1.0:
        return probabilities
    kept = probabilities * np.float32(rate)
    return (kept / (1.0 - probabilities + kept)).astype(np.float32, copy=False)
