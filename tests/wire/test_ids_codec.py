"""Keys and ids keep their kind and value on the wire, and damaged ones are told by name."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from navi.core.errors import InvalidArgument
from navi.core.ids import Ids
from navi.wire.ids_codec import decode_ids, decode_key, encode_ids, encode_key
from navi.wire.v1 import types_pb2


def offsets(*values):
    return np.array(values, dtype="<i4").tobytes()


@given(st.data())
def test_ids_come_back_as_they_were(make, data):
    ids = data.draw(make.ids())
    message = types_pb2.Ids.FromString(encode_ids(ids).SerializeToString())
    assert decode_ids(message, "ids") == ids


@given(st.integers(-(2**63), 2**63 - 1) | st.text("aé漢😀\0", max_size=5))
def test_a_key_comes_back_as_it_was(key):
    assert decode_key(encode_key(key, "user"), "user") == key


def test_ids_share_memory_with_the_message():
    decoded = decode_ids(types_pb2.Ids(numbers=np.arange(4, dtype="<i8").tobytes()), "ids")
    assert not decoded.values.flags.owndata
    assert not decoded.values.flags.writeable


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        (types_pb2.Ids(numbers=b"123456789"), "numbers has 9 bytes, not a multiple of 8"),
        (types_pb2.Ids(numbers=bytes(8), text=b"a", text_offsets=offsets(0, 1)), "has both numbers and text"),
        (types_pb2.Ids(text=b"ab"), "text_offsets must start with 0"),
        (types_pb2.Ids(text=b"ab", text_offsets=b"123"), "text_offsets has 3 bytes, not a multiple of 4"),
        (types_pb2.Ids(text=b"ab", text_offsets=offsets(1, 2)), "text_offsets must start with 0"),
        (types_pb2.Ids(text=b"ab", text_offsets=offsets(0, -1, 2)), "text_offsets goes back after position 0"),
        (types_pb2.Ids(text=b"ab", text_offsets=offsets(0, 2, 1, 2)), "text_offsets goes back after position 1"),
        (types_pb2.Ids(text=b"ab", text_offsets=offsets(0, 3)), "text_offsets ends at 3, where there are 2"),
        (types_pb2.Ids(text=b"ab", text_offsets=offsets(0, 1)), "text_offsets ends at 1, where there are 2"),
        (types_pb2.Ids(text=b"a\xff", text_offsets=offsets(0, 1, 2)), "text of id 1 is not UTF-8"),
        (
            types_pb2.Ids(text="é".encode(), text_offsets=offsets(0, 1, 2)),
            "text_offsets cuts a character at position 1",
        ),
    ],
)
def test_damaged_ids_are_refused_by_name(message, problem):
    with pytest.raises(InvalidArgument) as error:
        decode_ids(message, "supplied.ids")
    assert error.value.field == "supplied.ids"
    assert error.value.problem == problem


def test_empty_text_ids_stay_text():
    assert decode_ids(encode_ids(Ids.empty(text=True)), "ids").is_text
    assert not decode_ids(encode_ids(Ids.empty()), "ids").is_text


def test_a_key_of_no_kind_is_refused():
    with pytest.raises(InvalidArgument, match="user: has neither"):
        decode_key(types_pb2.Key(), "user")


@pytest.mark.parametrize("key", [True, 1.5, None, 2**63, -(2**63) - 1, "\ud800"])
def test_what_is_no_key_is_not_sent(key):
    with pytest.raises(InvalidArgument, match="user: "):
        encode_key(key, "user")
