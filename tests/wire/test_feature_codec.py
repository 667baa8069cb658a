"""Rows of features come back from the wire as they were."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from navi.core.column import Column
from navi.core.errors import InvalidArgument
from navi.core.ids import Ids
from navi.wire.feature_codec import Found, Upsert, decode_found, decode_upsert, encode_found, encode_upsert
from navi.wire.v1 import features_pb2


@given(st.data())
def test_an_upsert_comes_back_as_it_was(make, same, data):
    keys = data.draw(make.ids())
    mode = data.draw(st.sampled_from(["merge", "replace", "append"]))
    upsert = Upsert(store="users", keys=keys, columns=data.draw(make.named_columns(len(keys))), mode=mode)
    message = features_pb2.UpsertRequest.FromString(encode_upsert(upsert).SerializeToString())
    decoded = decode_upsert(message)
    assert (decoded.store, decoded.keys, decoded.mode) == (upsert.store, upsert.keys, upsert.mode)
    assert same.columns(decoded.columns, upsert.columns)


@given(st.data())
def test_found_rows_come_back_as_they_were(make, same, data):
    rows = data.draw(st.integers(0, 4))
    flags = data.draw(st.lists(st.booleans(), min_size=rows, max_size=rows))
    found = Found(found=np.array(flags, dtype=np.bool_), columns=data.draw(make.named_columns(rows)))
    decoded = decode_found(features_pb2.GetResponse.FromString(encode_found(found).SerializeToString()))
    assert decoded.found.tolist() == flags
    assert same.columns(decoded.columns, found.columns)


def test_a_row_has_what_is_not_missing_and_an_unknown_key_has_none():
    age = Column(np.array([1.0, 0.0, 0.0], dtype=np.float32), valid=np.array([True, False, False]))
    rows = Found(found=np.array([True, True, False]), columns={"age": age}).rows()
    assert rows == [{"age": np.array([1.0])}, {}, None]


def test_a_mode_that_there_is_not_is_refused():
    with pytest.raises(InvalidArgument, match=r"^mode: 7 is none of merge, replace, append"):
        decode_upsert(features_pb2.UpsertRequest(mode=7))
    with pytest.raises(InvalidArgument, match=r"^mode: 'add' is none of"):
        encode_upsert(Upsert(store="", keys=Ids.empty(), columns={}, mode="add"))


def test_columns_have_a_row_for_each_key():
    upsert = Upsert(store="", keys=Ids.of([1, 2]), columns={"age": Column(np.array([1]))})
    with pytest.raises(InvalidArgument, match=r"columns\[0\] \(age\): has 1 rows, where 2 are expected"):
        decode_upsert(encode_upsert(upsert))
