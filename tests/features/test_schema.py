"""What a row of features may hold."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from navi.core.errors import InvalidArgument
from navi.features.schema import FeatureSchema, Field

NUMBER = Field(dtype="float32")
WHOLE = Field(dtype="int64")
FLAG = Field(dtype="bool")
TEXT = Field(dtype="string")
INT64 = st.integers(-(2**63), 2**63 - 1)


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        (NUMBER, 3, np.array([3], np.float32)),
        (NUMBER, 0.5, np.array([0.5], np.float32)),
        (WHOLE, np.int8(-3), np.array([-3], np.int64)),
        (FLAG, True, np.array([True])),
        (TEXT, "zoë", np.array(["zoë"], object)),
        (TEXT, np.array(["a"]), np.array(["a"], object)),
        (TEXT, "nul\0", np.array(["nul\0"], object)),
        (Field(dtype="float32", width=3), (1, 2, 3), np.array([1, 2, 3], np.float32)),
        (Field(dtype="int64", max_length=3), [], np.array([], np.int64)),
        (Field(dtype="string", max_length=3), ["a", "b"], np.array(["a", "b"], object)),
    ],
)
def test_a_value_that_fits_becomes_the_fields_array(field, value, expected):
    array = field.check("age", value)
    assert array.dtype == expected.dtype
    assert array.tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        (NUMBER, float("nan"), "not finite"),
        (NUMBER, float("inf"), "not finite"),
        (NUMBER, 1e300, "not finite"),
        (NUMBER, True, "bool"),
        (NUMBER, "3", "expected"),
        (NUMBER, None, "expected"),
        (NUMBER, 2**24 + 1, "exactly"),
        (WHOLE, 3.0, "float64"),
        (WHOLE, 2**63, "exactly"),
        (WHOLE, 2**70, "expected"),
        (FLAG, 1, "int64"),
        (TEXT, 3, "strings"),
        (TEXT, b"bytes", "strings"),
        (TEXT, None, "strings"),
        (TEXT, "\ud800", "Unicode"),
        (NUMBER, [1, 2], "has 2 values, where 1"),
        (NUMBER, [], "has 0 values"),
        (Field(dtype="int64", max_length=2), [1, 2, 3], "at most 2"),
        (Field(dtype="int64", width=4), [[1, 2], [3, 4]], "2 dimensions"),
        (Field(dtype="int64", width=4), [[1, 2], [3]], "one dimension"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_by_name(field, value, problem):
    with pytest.raises(InvalidArgument, match=problem) as refused:
        field.check("age", value)
    assert refused.value.field == "age"


@given(INT64)
def test_an_integer_becomes_float32_only_where_it_is_the_same_number(value):
    exact = int(np.float32(value)) == value
    try:
        assert int(NUMBER.check("age", value)[0]) == value
    except InvalidArgument:
        assert not exact


@given(st.integers(0, 2**64 - 1))
def test_an_unsigned_integer_is_taken_where_64_signed_bits_hold_it(value):
    array = np.array([value], np.uint64)
    try:
        assert WHOLE.check("age", array).tolist() == [value]
    except InvalidArgument:
        assert value >= 2**63


def test_an_unknown_feature_is_refused_and_the_known_ones_are_named():
    schema = FeatureSchema({"age": NUMBER, "seen": Field(dtype="int64", max_length=5)})
    with pytest.raises(InvalidArgument, match=r"aeg.*known: age, seen"):
        schema.check({"aeg": 1})


def test_a_row_may_leave_features_out():
    schema = FeatureSchema({"age": NUMBER, "name": TEXT})
    assert list(schema.check({"name": "x"})) == ["name"]
    assert schema.check({}) == {}
