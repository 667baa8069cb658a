"""Times keep their value on the wire."""

import math

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import given
from hypothesis import strategies as st

from navi.core.errors import InvalidArgument
from navi.wire.time_codec import FIRST, LAST, decode_time, encode_time


@given(st.floats(FIRST, LAST))
def test_a_time_comes_back_to_the_nanosecond(seconds):
    assert decode_time(encode_time(seconds), "as_of") == pytest.approx(seconds, abs=1e-9, rel=0)


@given(st.floats(1e8, LAST))
def test_a_time_of_this_age_comes_back_exactly(seconds):
    assert decode_time(encode_time(seconds), "as_of") == seconds


@pytest.mark.parametrize(
    "wrong",
    [
        Timestamp(seconds=LAST + 1),
        Timestamp(seconds=FIRST - 1),
        Timestamp(seconds=-(2**63)),
        Timestamp(nanos=-1),
        Timestamp(nanos=10**9),
    ],
)
def test_a_time_out_of_range_is_refused(wrong):
    with pytest.raises(InvalidArgument, match=r"^as_of: "):
        decode_time(wrong, "as_of")


@pytest.mark.parametrize("seconds", [math.nan, math.inf, -math.inf, 1e300])
def test_what_is_no_time_is_not_sent(seconds):
    with pytest.raises(InvalidArgument, match=r"^as_of: "):
        encode_time(seconds)
