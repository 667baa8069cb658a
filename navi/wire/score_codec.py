"""`Score` on the wire: request <-> Query, reply <-> Scores."""

from navi.core.errors import InvalidArgument
from navi.core.query import Query, Supplied
from navi.core.ranking import Scores
from navi.wire.buffers import read, write
from navi.wire.column_codec import encode_columns
from navi.wire.ids_codec import encode_key
from navi.wire.query_codec import (
    Arrival,
    decode_as_of,
    decode_features,
    decode_request_id,
    decode_supplied,
    decode_user,
    encode_supplied,
)
from navi.wire.report_codec import (
    decode_degradations,
    decode_stages,
    decode_tasks,
    encode_degradations,
    encode_stages,
    encode_tasks,
)
from navi.wire.time_codec import decode_time, encode_time
from navi.wire.v1 import ranking_pb2


def decode_score(message: ranking_pb2.ScoreRequest, arrival: Arrival) -> Query:
    """A query whose `supplied` are the candidates, and whose `k` is their number; InvalidArgument without any."""
    supplied = decode_supplied(message.candidates, "candidates")
    return Query(
        pipeline=message.pipeline,
        user=decode_user(message),
        k=_count(supplied),
        deadline=arrival.deadline,
        as_of=decode_as_of(message, arrival),
        seed=arrival.seed,
        request_id=decode_request_id(message),
        features=decode_features(message.features),
        supplied=supplied,
    )


def encode_score(query: Query) -> ranking_pb2.ScoreRequest:
    """The request for a query, `as_of` included; InvalidArgument where it brings no candidates."""
    supplied = query.supplied or Supplied(ids=query.exclude.empty())
    _count(supplied)
    return ranking_pb2.ScoreRequest(
        pipeline=query.pipeline,
        user=None if query.user is None else encode_key(query.user, "user"),
        features=encode_columns(query.features),
        candidates=encode_supplied(supplied, "candidates"),
        as_of=encode_time(query.as_of),
        request_id=query.request_id,
    )


def encode_scores(scores: Scores, request_id: str) -> ranking_pb2.ScoreResponse:
    return ranking_pb2.ScoreResponse(
        scores=write(scores.scores, "<f4"),
        tasks=encode_tasks(scores.tasks),
        status=write(scores.status, "u1"),
        stages=encode_stages(scores.stages),
        models=scores.models,
        degradations=encode_degradations(scores.degradations),
        as_of=encode_time(scores.as_of),
        request_id=request_id,
    )


def decode_scores(message: ranking_pb2.ScoreResponse) -> Scores:
    """The scores in a reply; InvalidArgument where its columns do not have one length."""
    scores = read(message.scores, "<f4", "reply", "scores")
    status = read(message.status, "u1", "reply", "status")
    if len(scores) != len(status):
        raise InvalidArgument("reply", f"has {len(scores)} scores and {len(status)} statuses")
    return Scores(
        scores=scores,
        tasks=decode_tasks(message.tasks, len(scores)),
        status=status,
        stages=decode_stages(message.stages),
        models=dict(message.models),
        degradations=decode_degradations(message.degradations),
        as_of=decode_time(message.as_of, "as_of"),
    )


def _count(supplied: Supplied) -> int:
    if len(supplied.ids) == 0:
        raise InvalidArgument("candidates.ids", "is empty")
    return len(supplied.ids)
