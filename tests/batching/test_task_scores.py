"""Outputs become scores by task."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from navi.batching.task_scores import task_scores
from navi.models.spec import OutputSpec


def output(kind: str, *tasks: str, **sampling: float) -> OutputSpec:
    return OutputSpec(name="y", kind=kind, tasks=tasks, sampling=sampling)


def test_logits_become_probabilities_even_at_the_ends() -> None:
    logits = np.array([-200, -20, 0, 20, 200], dtype=np.float32)
    scores = task_scores([output("logit", "click")], {"y": logits})["click"]
    np.testing.assert_allclose(scores, [0, 2.0611537e-09, 0.5, 1, 1], rtol=1e-6)
    assert scores.dtype == np.float32


@pytest.mark.parametrize("kind", ["probability", "score"])
def test_probabilities_and_scores_stay_as_they_are(kind: str) -> None:
    values = np.array([[0.25, 0.5], [0.75, 1.0]], dtype=np.float32)
    scores = task_scores([output(kind, "click", "buy")], {"y": values})
    assert {task: each.tolist() for task, each in scores.items()} == {"click": [0.25, 0.75], "buy": [0.5, 1.0]}
    assert all(each.flags.c_contiguous for each in scores.values())


@given(p=st.floats(0.001, 0.999), rate=st.floats(0.01, 1.0))
def test_the_sampling_correction_undoes_the_sampling(p: float, rate: float) -> None:
    """Of negatives only a share `rate` was seen: the model learns p / (p + (1 - p) rate)."""
    seen = np.array([p / (p + (1 - p) * rate)], dtype=np.float32)
    scores = task_scores([output("probability", "click", click=rate)], {"y": seen})["click"]
    assert scores.dtype == np.float32
    np.testing.assert_allclose(scores, [p], rtol=1e-3)


def test_only_the_named_task_is_corrected() -> None:
    values = np.full((1, 2), 0.5, dtype=np.float32)
    scores = task_scores([output("probability", "click", "buy", buy=0.25)], {"y": values})
    assert scores["click"].tolist() == [0.5]
    np.testing.assert_allclose(scores["buy"], [0.2], rtol=1e-6)


def test_several_outputs_and_vectors_live_side_by_side() -> None:
    outputs = [
        OutputSpec(name="click", kind="logit", tasks=("click",)),
        OutputSpec(name="embedding", kind="vector"),
        OutputSpec(name="value", kind="score", tasks=("price",)),
    ]
    values = {
        "click": np.zeros((2, 1), np.float32),
        "embedding": np.ones((2, 4), np.float32),
        "value": np.array([3, 4], np.float32),
    }
    scores = task_scores(outputs, values)
    assert {task: each.tolist() for task, each in scores.items()} == {"click": [0.5, 0.5], "price": [3, 4]}


def test_a_value_that_is_not_finite_passes_through_to_be_counted() -> None:
    scores = task_scores([output("logit", "click")], {"y": np.array([np.nan, 0], dtype=np.float32)})["click"]
    assert np.isnan(scores[0])
    assert scores[1] == 0.5
