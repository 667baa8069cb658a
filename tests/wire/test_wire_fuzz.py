"""Whatever bytes arrive, they are a request or they are refused as a wrong one."""

from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from navi.core.deadline import Deadline
from navi.core.errors import InvalidArgument
from navi.wire.buffers import parse
from navi.wire.feature_codec import Upsert, decode_upsert, encode_upsert
from navi.wire.query_codec import Arrival
from navi.wire.rank_codec import decode_rank, encode_rank
from navi.wire.score_codec import decode_score, encode_score
from navi.wire.v1 import features_pb2, ranking_pb2

ARRIVAL = Arrival(Deadline.never(), now=0.0, seed=0)

READERS = {
    "rank": lambda data: decode_rank(parse(ranking_pb2.RankRequest, data), ARRIVAL),
    "score": lambda data: decode_score(parse(ranking_pb2.ScoreRequest, data), ARRIVAL),
    "upsert": lambda data: decode_upsert(parse(features_pb2.UpsertRequest, data)),
}


@st.composite
def mutated(draw, data):
    """`data` with a few bytes changed, taken out, put in, or its end cut off."""
    mutable = bytearray(data)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(mutable)))
        kind = draw(st.sampled_from(["change", "insert", "delete", "cut"]))
        if kind == "insert":
            mutable[at:at] = draw(st.binary(max_size=4))
        elif kind == "cut":
            del mutable[at:]
        elif at < len(mutable) and kind == "change":
            mutable[at] = draw(st.integers(0, 255))
        else:
            del mutable[at : at + 1]
    return bytes(mutable)


@pytest.fixture(scope="session")
def requests(make):
    def upsert(draw):
        keys = draw(make.ids())
        return encode_upsert(Upsert(store="", keys=keys, columns=draw(make.named_columns(len(keys)))))

    return {
        "rank": lambda draw: encode_rank(draw(make.queries())),
        "score": lambda draw: encode_score(draw(make.queries(score=True))),
        "upsert": upsert,
    }


@pytest.mark.parametrize("kind", READERS)
@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=st.data())
def test_mutated_bytes_are_a_request_or_refused(requests, kind, data):
    good = requests[kind](data.draw).SerializeToString()
    with suppress(InvalidArgument):
        READERS[kind](data.draw(mutated(good)))


@pytest.mark.parametrize("kind", READERS)
@given(data=st.binary(max_size=64))
def test_any_bytes_are_a_request_or_refused(kind, data):
    with suppress(InvalidArgument):
        READERS[kind](data)


def test_what_is_no_message_is_told_so():
    with pytest.raises(InvalidArgument, match=r"^message: is not a navi.v1.RankRequest"):
        READERS["rank"](b"\xff\xff")
