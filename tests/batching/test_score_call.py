"""Several calls as one batch, and the batch's outputs as several answers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from navi.batching.score_call import ScoreCall, assemble, split
from navi.core.errors import BackendError


@given(sizes=st.lists(st.integers(0, 6), min_size=1, max_size=8))
def test_what_is_put_together_is_taken_apart_again(sizes: list[int]) -> None:
    calls = [
        ScoreCall(
            {"user": np.full((1, 2), mark, dtype=np.float32)},
            {"item": np.arange(n, dtype=np.int64)[:, None] + 100 * mark},
            n,
        )
        for mark, n in enumerate(sizes)
    ]
    inputs = assemble(calls)
    assert {name: (len(values), values.dtype.name) for name, values in inputs.items()} == {
        "user": (sum(sizes), "float32"),
        "item": (sum(sizes), "int64"),
    }
    for call, part in zip(calls, split(inputs, calls), strict=True):
        np.testing.assert_array_equal(part["item"], call.rows["item"])
        np.testing.assert_array_equal(part["user"], np.repeat(call.request["user"], call.n, axis=0))


def test_a_lone_calls_rows_are_not_copied() -> None:
    item = np.zeros((3, 1), dtype=np.float32)
    inputs = assemble([ScoreCall({}, {"item": item}, 3)])
    assert inputs["item"] is item


def test_answers_are_views_of_the_runs_outputs() -> None:
    calls = [ScoreCall({}, {"x": np.zeros((n, 1))}, n) for n in (2, 3)]
    y = np.arange(5)
    assert all(np.shares_memory(part["y"], y) for part in split({"y": y}, calls))


def test_calls_with_other_inputs_do_not_fit() -> None:
    one = ScoreCall({}, {"x": np.zeros((1, 1))}, 1)
    other = ScoreCall({}, {"x": np.zeros((1, 1)), "y": np.zeros((1, 1))}, 1)
    with pytest.raises(BackendError, match="different inputs"):
        assemble([one, other])
