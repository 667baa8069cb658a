"""What callers have at hand becomes ids and columns, or is refused by name."""

import subprocess
import sys

import numpy as np
import pytest

from navi.client import Client
from navi.client.ids import as_ids
from navi.client.values import as_columns, as_row
from navi.core.errors import InvalidArgument
from navi.core.ids import Ids


def test_the_client_needs_grpc_protobuf_and_numpy_only():
    program = "import sys, navi.client; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(run.stdout.split()) - set(sys.stdlib_module_names)
    third_party = {name for name in loaded if not name.startswith("_")} - {"navi"}
    assert {"grpc", "google", "numpy"} <= third_party
    assert third_party & {"pyarrow", "pydantic", "prometheus_client", "uvloop", "torch", "lmdb"} == set()


@pytest.mark.parametrize(
    ("value", "dtype", "listed"),
    [
        (13, "int64", [13]),
        (np.int32(13), "int64", [13]),
        (1.5, "float32", [1.5]),
        (True, "bool", [True]),
        ("a", "string", ["a"]),
        ([1, 2], "int64", [[1, 2]]),
        ((1, 2.5), "float32", [[1, 2.5]]),
        (np.array([1.0, 2.0]), "float32", [[1, 2]]),
        (["a", "bc\0"], "string", [["a", "bc\0"]]),
        (np.array(["a", "bc"]), "string", [["a", "bc"]]),
        ([7], "int64", [7]),
    ],
)
def test_a_request_feature_is_one_row(value, dtype, listed):
    column = as_row({"x": value})["x"]
    assert (column.dtype, column.values.tolist(), len(column)) == (dtype, listed, 1)


@pytest.mark.parametrize("value", [None, [], np.empty(0)])
def test_a_feature_without_a_value_is_left_out(value):
    assert as_row({"x": value}) == {}


@pytest.mark.parametrize(
    "value",
    [b"a", [1, "a"], ["a", None], object(), {"a": 1}, [[1, 2]], [[1], [2, 3]], 2**63, [2**70], 1j, np.zeros((1, 2))],
)
def test_what_is_no_feature_is_refused_by_name(value):
    with pytest.raises(InvalidArgument, match=r"features \(x\): "):
        as_row({"x": value})


def test_rows_of_several_lengths_are_ragged():
    column = as_columns({"x": [[1, 2], [], None, [3]]})["x"]
    assert column.offsets.tolist() == [0, 2, 2, 2, 3]
    assert column.valid.tolist() == [True, True, False, True]


@pytest.mark.parametrize(
    ("values", "listed"),
    [([1, None], [1, 0]), (["a", None], ["a", ""]), ([None, 2.5], [0, 2.5]), ([True, None], [True, False])],
)
def test_none_is_a_missing_row(values, listed):
    column = as_columns({"x": values})["x"]
    assert column.values.tolist() == listed
    assert column.valid.tolist() == [value is not None for value in values]


def test_an_array_of_two_dimensions_has_a_fixed_width():
    assert as_columns({"x": np.zeros((3, 2))})["x"].values.shape == (3, 2)


@pytest.mark.parametrize("values", [5, "ab", [1, "a"], [[1], ["a"]], np.zeros((1, 1, 1)), [[[1]]], np.array(1.0)])
def test_what_are_no_rows_is_refused_by_name(values):
    with pytest.raises(InvalidArgument, match=r"columns \(x\): "):
        as_columns({"x": values})


@pytest.mark.parametrize(
    "keys",
    [[1, 2], (1, 2), range(1, 3), np.array([1, 2]), np.array([1, 2], dtype=np.uint8), [np.int64(1), 2], Ids.of([1, 2])],
)
def test_integers_are_ids(keys):
    assert as_ids(keys, "ids") == Ids.of([1, 2])


@pytest.mark.parametrize("keys", [["a", "b"], np.array(["a", "b"]), iter("ab")])
def test_strings_are_ids(keys):
    assert as_ids(keys, "ids") == Ids.of(["a", "b"])


@pytest.mark.parametrize(
    "keys", ["ab", [1, "a"], [1.5], [True], [2**63], [None], np.zeros((2, 2), dtype=np.int64), ["\ud800"]]
)
def test_what_are_no_ids_is_refused_by_name(keys):
    with pytest.raises(InvalidArgument, match="exclude: "):
        as_ids(keys, "exclude")


def test_a_wrong_call_is_refused_before_it_is_sent():
    with Client("127.0.0.1:1") as client:
        for wrong in ({"k": 0}, {"user": 1.5}, {"seed": -1}, {"as_of": float("nan")}, {"columns": {"x": [1]}}):
            with pytest.raises(InvalidArgument, match=next(iter(wrong))):
                client.rank(**wrong)
        with pytest.raises(InvalidArgument, match="candidates"):
            client.score([])
        with pytest.raises(InvalidArgument, match="predicates"):
            client.rank(predicates=[("price", "about", 3)])
