"""Columns keep dtype, shape and missing rows on the wire, and damaged ones are told by name."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from navi.core.column import Column
from navi.core.errors import InvalidArgument
from navi.wire.column_codec import decode_column, decode_columns, encode_column, encode_columns
from navi.wire.v1.types_pb2 import BOOL, FLOAT32, INT64, STRING
from navi.wire.v1.types_pb2 import Column as Message

FLOATS = np.array([1, 2, 3, 4], dtype="<f4").tobytes()
NAN = np.array([1, np.nan], dtype="<f4").tobytes()


def ints(*values):
    return np.array(values, dtype="<i4").tobytes()


@given(st.data())
def test_a_column_comes_back_as_it_was(make, same, data):
    column = data.draw(make.columns(data.draw(st.integers(0, 4))))
    message = Message.FromString(encode_column("x", column).SerializeToString())
    assert same.column(decode_column(message, "x"), column)


@given(st.data())
def test_named_columns_come_back_as_they_were(make, same, data):
    rows = data.draw(st.integers(0, 4))
    columns = data.draw(make.named_columns(rows))
    assert same.columns(decode_columns(encode_columns(columns), "features", rows=rows), columns)


def test_numbers_share_memory_with_the_message():
    values = decode_column(Message(dtype=FLOAT32, data=FLOATS, width=2), "x").values
    assert values.shape == (2, 2)
    assert not values.flags.writeable
    assert values.base is not None


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        (Message(data=FLOATS), "dtype 0 is none of float32, int64, bool, string"),
        (Message(dtype=77, data=FLOATS), "dtype 77 is none of float32, int64, bool, string"),
        (Message(dtype=FLOAT32, data=b"1234567"), "data has 7 bytes, not a multiple of 4"),
        (Message(dtype=INT64, data=b"1234567"), "data has 7 bytes, not a multiple of 8"),
        (Message(dtype=BOOL, data=b"\0\1\2"), "data has a byte that is neither 0 nor 1 at position 2"),
        (Message(dtype=FLOAT32, data=FLOATS, width=3), "data has 4 values, not a multiple of the width 3"),
        (Message(dtype=FLOAT32, data=FLOATS, width=2**32 - 1), "width 4294967295 is more than 1048576"),
        (Message(dtype=FLOAT32, width=2**32 - 1), "width 4294967295 is more than 1048576"),
        (Message(dtype=FLOAT32, data=FLOATS, row_offsets=ints(0, 3)), "row_offsets ends at 3, where there are 4"),
        (Message(dtype=FLOAT32, data=FLOATS, row_offsets=ints(0, 5)), "row_offsets ends at 5, where there are 4"),
        (Message(dtype=FLOAT32, data=FLOATS, row_offsets=ints(1, 4)), "row_offsets must start with 0"),
        (Message(dtype=FLOAT32, data=FLOATS, row_offsets=ints(0, 3, 2, 4)), "row_offsets goes back after position 1"),
        (Message(dtype=FLOAT32, data=FLOATS, row_offsets=b"12345"), "row_offsets has 5 bytes, not a multiple of 4"),
        (
            Message(dtype=FLOAT32, data=FLOATS, text_offsets=ints(0, 4)),
            "text_offsets has no place beside float32 values",
        ),
        (Message(dtype=FLOAT32, data=FLOATS, valid=b"\1"), "valid has 1 bytes for 4 rows"),
        (
            Message(dtype=FLOAT32, data=FLOATS, valid=b"\0\1\3\1"),
            "valid has a byte that is neither 0 nor 1 at position 2",
        ),
        (Message(dtype=STRING, data=b"ab"), "text_offsets must start with 0"),
        (Message(dtype=STRING, data=b"ab", text_offsets=ints(0, 3)), "text_offsets ends at 3, where there are 2"),
        (Message(dtype=STRING, data=b"ab", text_offsets=ints(0, -2, 2)), "text_offsets goes back after position 0"),
        (Message(dtype=STRING, data=b"a\xff", text_offsets=ints(0, 1, 2)), "string 1 is not UTF-8"),
        (Message(dtype=FLOAT32, data=NAN), "is not finite in row 1 (mark a missing value in `valid` instead)"),
        (Message(dtype=FLOAT32, data=NAN, width=2), "is not finite in row 0 (mark a missing value in `valid` instead)"),
        (
            Message(dtype=FLOAT32, data=NAN, row_offsets=ints(0, 1, 1, 2)),
            "is not finite in row 2 (mark a missing value in `valid` instead)",
        ),
    ],
)
def test_a_damaged_column_is_refused_by_name(message, problem):
    message.name = "age"
    with pytest.raises(InvalidArgument) as error:
        decode_columns([Message(name="a", dtype=FLOAT32, data=FLOATS), message], "features", rows=4)
    assert error.value.field == "features[1] (age)"
    assert error.value.problem == problem


def test_a_column_with_another_number_of_rows_is_refused():
    with pytest.raises(InvalidArgument, match=r"features\[0\] \(age\): has 4 rows, where 1 are expected"):
        decode_columns([Message(name="age", dtype=FLOAT32, data=FLOATS)], "features", rows=1)


def test_a_name_is_given_once():
    column = Message(name="age", dtype=FLOAT32, data=FLOATS)
    with pytest.raises(InvalidArgument, match=r"supplied.columns\[1\].name: 'age' is given twice"):
        decode_columns([column, column], "supplied.columns", rows=4)
    with pytest.raises(InvalidArgument, match=r"features\[0\].name: is empty"):
        decode_columns([Message(dtype=FLOAT32)], "features", rows=0)


def test_a_name_in_a_message_is_short_and_printable():
    column = Message(name="\n" * 1000, dtype=FLOAT32, data=FLOATS)
    with pytest.raises(InvalidArgument) as error:
        decode_columns([column], "features", rows=1)
    assert len(error.value.field) < 300
    assert error.value.field.isprintable()


def test_what_stands_in_a_missing_row_does_not_matter():
    column = decode_column(Message(dtype=FLOAT32, data=NAN, valid=b"\1\0"), "x")
    assert column.values.tolist() == [1, 0]
    assert column.valid.tolist() == [True, False]


def test_answers_may_hold_nan():
    assert np.isnan(decode_column(Message(dtype=FLOAT32, data=NAN), "x", finite=False).values[1])


def test_a_width_that_the_data_does_not_bear_costs_no_memory():
    tracemalloc.start()
    try:
        decode_column(Message(dtype=INT64, width=1 << 20), "x")
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


def test_rows_of_no_values_travel_as_empty_lists():
    column = decode_column(encode_column("x", Column(np.empty((3, 0), dtype=np.float32))), "x")
    assert [column.row(i).tolist() for i in range(3)] == [[], [], []]


@pytest.mark.parametrize("text", ["\ud800", 5, None])
def test_what_is_no_text_is_not_sent(text):
    with pytest.raises(InvalidArgument, match="city: has a value that is not text"):
        encode_column("city", Column(np.array([text], dtype=object)))
