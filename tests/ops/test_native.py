"""The compiled module itself: every instruction set of this processor, and what its absence says."""

import importlib
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from navi.core.arrays import F32, I64
from navi.ops import reference
from navi.ops.native import native

SETS = native.instruction_sets()


def scores_by(instruction_set: native.InstructionSet, matrix: F32, rows: I64, query: F32) -> F32:
    scores = np.empty(len(rows), dtype=np.float32)
    native.gather_dot(matrix, rows, query, instruction_set, scores)
    return scores


def test_plain_code_runs_everywhere_and_is_the_last_choice() -> None:
    assert SETS[-1] is native.InstructionSet.plain


@pytest.mark.parametrize("instruction_set", SETS, ids=lambda chosen: chosen.name)
@settings(deadline=None)
@given(seed=st.integers(0, 2**32 - 1), dims=st.integers(0, 70), count=st.integers(0, 20))
def test_each_instruction_set_sums_exactly_where_sums_are_exact(
    instruction_set: native.InstructionSet, seed: int, dims: int, count: int
) -> None:
    random = np.random.default_rng(seed)
    matrix = random.integers(-9, 10, (30, dims)).astype(np.float32)
    query = random.integers(-9, 10, dims).astype(np.float32)
    rows = random.integers(0, len(matrix), count)
    np.testing.assert_array_equal(
        scores_by(instruction_set, matrix, rows, query), reference.gather_dot(matrix, rows, query)
    )


@pytest.mark.parametrize("instruction_set", SETS, ids=lambda chosen: chosen.name)
def test_each_instruction_set_scores_a_row_alike_in_any_company(instruction_set: native.InstructionSet) -> None:
    random = np.random.default_rng(5)
    for dims in (1, 5, 17, 37, 64, 100):
        matrix = random.standard_normal((23, dims), dtype=np.float32)
        query = random.standard_normal(dims, dtype=np.float32)
        together = scores_by(instruction_set, matrix, np.arange(23), query)
        alone = [scores_by(instruction_set, matrix, np.array([row]), query)[0] for row in range(23)]
        np.testing.assert_array_equal(together.view(np.uint32), np.array(alone).view(np.uint32))


def test_without_the_compiled_module_the_import_says_how_to_build_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "navi.ops._native", None)
    monkeypatch.delitem(sys.modules, "navi.ops.native")
    with pytest.raises(ImportError, match=r"compiled kernels .* cmake -S kernels"):
        importlib.import_module("navi.ops.native")
