"""Conditions keep their meaning on the wire; those without one are refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from navi.core.column import Column
from navi.core.errors import InvalidArgument
from navi.core.query import Predicate
from navi.wire.column_codec import encode_column
from navi.wire.predicate_codec import decode_predicates, encode_predicate
from navi.wire.v1.ranking_pb2 import Predicate as Message


def message(operator, values, *, column="price", **more):
    return Message(column=column, operator=operator, values=encode_column("", Column(np.array(values), **more)))


@given(st.data())
def test_a_predicate_comes_back_as_it_was(make, same, data):
    predicate = data.draw(make.predicates())
    [decoded] = decode_predicates([Message.FromString(encode_predicate(predicate).SerializeToString())])
    assert (decoded.column, decoded.operator) == (predicate.column, predicate.operator)
    assert same.column(decoded.values, predicate.values)


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (message(Message.AT_LEAST, [1, 2]), "predicates[1].values: has 2 values, where a bound is one"),
        (
            message(Message.AT_MOST, np.empty(0, dtype=np.int64)),
            "predicates[1].values: has 0 values, where a bound is one",
        ),
        (message(Message.AT_MOST, [True]), "predicates[1].values: is bool, where a bound is a number"),
        (message(Message.IN, [[1, 2]]), "predicates[1].values: must have one value a row"),
        (message(Message.IN, [1], valid=np.array([False])), "predicates[1].values: has missing values"),
        (message(Message.IN, [1], column=""), "predicates[1].column: is empty"),
        (message(0, [1]), "predicates[1].operator: 0 is none of in, not_in, at_least, at_most"),
        (message(9, [1]), "predicates[1].operator: 9 is none of in, not_in, at_least, at_most"),
        (Message(column="a", operator=Message.IN), "predicates[1].values: dtype 0 is none of"),
    ],
)
def test_a_predicate_without_a_meaning_is_refused_by_name(wrong, text):
    with pytest.raises(InvalidArgument) as error:
        decode_predicates([message(Message.IN, [1, 2]), wrong])
    assert str(error.value).startswith(text)


def test_a_bound_that_is_not_finite_is_refused():
    wrong = message(Message.AT_LEAST, np.array([np.nan], dtype=np.float32))
    with pytest.raises(InvalidArgument, match="is not finite"):
        decode_predicates([wrong])


def test_an_operator_that_there_is_not_is_not_sent():
    with pytest.raises(InvalidArgument, match="'like' is none of"):
        encode_predicate(Predicate(column="a", operator="like", values=Column(np.array([1]))))
