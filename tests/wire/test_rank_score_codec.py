"""Queries and answers come back from the wire as they were; senseless queries are refused by name."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from navi.core.deadline import Deadline
from navi.core.errors import InvalidArgument
from navi.core.ids import Ids
from navi.core.query import MAX_K, Query, Supplied
from navi.wire.query_codec import Arrival
from navi.wire.rank_codec import decode_rank, decode_ranking, encode_rank, encode_ranking
from navi.wire.score_codec import decode_score, decode_scores, encode_score, encode_scores
from navi.wire.v1 import ranking_pb2, types_pb2

ARRIVAL = Arrival(Deadline.never(), now=123.0, seed=77)


@pytest.fixture(scope="session")
def same_query(same):
    def check(one: Query, other: Query) -> bool:
        plain = ("pipeline", "user", "k", "as_of", "seed", "request_id", "exclude", "explain")
        assert [getattr(one, name) for name in plain] == [getattr(other, name) for name in plain]
        assert same.columns(one.features, other.features)
        assert (one.supplied is None) == (other.supplied is None)
        if one.supplied is not None and other.supplied is not None:
            assert one.supplied.ids == other.supplied.ids
            assert same.columns(one.supplied.columns, other.supplied.columns)
        for a, b in zip(one.predicates, other.predicates, strict=True):
            assert (a.column, a.operator) == (b.column, b.operator)
            assert same.column(a.values, b.values)
        return True

    return check


@given(st.data())
def test_a_rank_query_comes_back_as_it_was(make, same_query, data):
    query = data.draw(make.queries())
    message = ranking_pb2.RankRequest.FromString(encode_rank(query).SerializeToString())
    assert same_query(decode_rank(message, ARRIVAL), query)


@given(st.data())
def test_a_score_query_comes_back_as_it_was(make, same_query, data):
    query = data.draw(make.queries(score=True))
    message = ranking_pb2.ScoreRequest.FromString(encode_score(query).SerializeToString())
    assert same_query(decode_score(message, replace(ARRIVAL, seed=0)), query)


def same_reports(one, other):
    for name in ("stages", "models", "degradations", "as_of"):
        assert getattr(one, name) == getattr(other, name)
    assert np.array_equal(one.scores, other.scores, equal_nan=True)
    assert list(one.tasks) == list(other.tasks)
    return all(np.array_equal(one.tasks[name], other.tasks[name], equal_nan=True) for name in one.tasks)


@given(st.data())
def test_a_ranking_comes_back_as_it_was(make, data):
    ranking = data.draw(make.rankings())
    message = ranking_pb2.RankResponse.FromString(encode_ranking(ranking, "r1").SerializeToString())
    decoded = decode_ranking(message)
    assert message.request_id == "r1"
    assert same_reports(decoded, ranking)
    assert decoded.ids == ranking.ids
    assert np.array_equal(decoded.sources, ranking.sources)
    for name in ("source_names", "shortfall", "seed"):
        assert getattr(decoded, name) == getattr(ranking, name)


@given(st.data())
def test_scores_come_back_as_they_were(make, data):
    scores = data.draw(make.scores())
    message = ranking_pb2.ScoreResponse.FromString(encode_scores(scores, "r1").SerializeToString())
    decoded = decode_scores(message)
    assert message.request_id == "r1"
    assert same_reports(decoded, scores)
    assert np.array_equal(decoded.status, scores.status)


def test_time_and_seed_are_the_servers_where_a_request_has_none():
    query = decode_rank(ranking_pb2.RankRequest(k=1), ARRIVAL)
    assert (query.as_of, query.seed) == (123.0, 77)
    assert query.deadline is ARRIVAL.deadline


def test_a_seed_of_zero_is_a_seed():
    assert decode_rank(ranking_pb2.RankRequest(k=1, seed=0), ARRIVAL).seed == 0


def test_an_absent_user_is_anonymous_and_an_empty_one_is_not():
    assert decode_rank(ranking_pb2.RankRequest(k=1), ARRIVAL).user is None
    assert decode_rank(ranking_pb2.RankRequest(k=1, user=types_pb2.Key(number=0)), ARRIVAL).user == 0


@pytest.mark.parametrize("k", [0, MAX_K + 1, 2**32 - 1])
def test_k_has_bounds(k):
    with pytest.raises(InvalidArgument, match=rf"^k: is {k}, where 1 to {MAX_K}"):
        decode_rank(ranking_pb2.RankRequest(k=k), ARRIVAL)
    with pytest.raises(InvalidArgument, match=r"^k: "):
        encode_rank(Query(pipeline="", user=None, k=k, deadline=Deadline.never(), as_of=0.0))


def test_score_without_candidates_is_refused_by_name():
    with pytest.raises(InvalidArgument, match=r"^candidates.ids: is empty"):
        decode_score(ranking_pb2.ScoreRequest(), ARRIVAL)
    with pytest.raises(InvalidArgument, match=r"^candidates.ids: is empty"):
        encode_score(Query(pipeline="", user=None, k=1, deadline=Deadline.never(), as_of=0.0))


def column(name, rows):
    return types_pb2.Column(name=name, dtype=types_pb2.FLOAT32, data=bytes(4 * rows))


@pytest.mark.parametrize(
    ("request_", "text"),
    [
        (
            ranking_pb2.RankRequest(k=1, features=[column("age", 2)]),
            "features[0] (age): has 2 rows, where 1 are expected",
        ),
        (ranking_pb2.RankRequest(k=1, user=types_pb2.Key()), "user: has neither"),
        (ranking_pb2.RankRequest(k=1, exclude=types_pb2.Ids(numbers=b"1")), "exclude: numbers has 1 bytes"),
        (
            ranking_pb2.RankRequest(
                k=1,
                supplied=ranking_pb2.Candidates(
                    ids=types_pb2.Ids(numbers=bytes(16)), columns=[column("a", 2), column("b", 1)]
                ),
            ),
            "supplied.columns[1] (b): has 1 rows, where 2 are expected",
        ),
        (ranking_pb2.RankRequest(k=1, request_id="x" * 257), "request_id: has 257 characters"),
        (ranking_pb2.RankRequest(k=1, predicates=[ranking_pb2.Predicate()]), "predicates[0].operator: "),
    ],
)
def test_a_wrong_field_is_told_by_its_path(request_, text):
    with pytest.raises(InvalidArgument) as error:
        decode_rank(request_, ARRIVAL)
    assert str(error.value).startswith(text)


def test_a_supplied_set_may_be_empty_in_rank():
    query = Query(
        pipeline="", user=1, k=1, deadline=Deadline.never(), as_of=0.0, supplied=Supplied(ids=Ids.empty(text=True))
    )
    assert len(decode_rank(encode_rank(query), ARRIVAL).supplied.ids) == 0


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_a_seed_that_does_not_fit_is_not_sent(seed):
    with pytest.raises(InvalidArgument, match=r"^seed: "):
        encode_rank(Query(pipeline="", user=1, k=1, deadline=Deadline.never(), as_of=0.0, seed=seed))


@pytest.mark.parametrize(
    "reply",
    [
        ranking_pb2.RankResponse(scores=bytes(4)),
        ranking_pb2.RankResponse(tasks=[column("click", 1)]),
        ranking_pb2.RankResponse(tasks=[types_pb2.Column(name="click", dtype=types_pb2.INT64)]),
    ],
)
def test_a_reply_whose_columns_differ_in_length_or_kind_is_refused(reply):
    with pytest.raises(InvalidArgument):
        decode_ranking(reply)
    with pytest.raises(InvalidArgument):
        decode_scores(ranking_pb2.ScoreResponse(scores=reply.scores or bytes(4), tasks=reply.tasks))
