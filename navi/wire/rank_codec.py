"""`Rank` on the wire: request <-> Query, reply <-> Ranking."""

from navi.core.errors import InvalidArgument
from navi.core.query import MAX_K, Query
from navi.core.ranking import Ranking
from navi.wire.buffers import read, write
from navi.wire.column_codec import encode_columns
from navi.wire.explanation_codec import decode_explanation, encode_explanation
from navi.wire.ids_codec import decode_ids, encode_ids, encode_key
from navi.wire.predicate_codec import decode_predicates, encode_predicate
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


def decode_rank(message: ranking_pb2.RankRequest, arrival: Arrival) -> Query:
    """The query that a request asks; InvalidArgument, naming the field, where it asks for nothing sensible."""
    if not 1 <= message.k <= MAX_K:
        raise InvalidArgument("k", f"is {message.k}, where 1 to {MAX_K} are possible")
    return Query(
        pipeline=message.pipeline,
        user=decode_user(message),
        k=message.k,
        deadline=arrival.deadline,
        as_of=decode_as_of(message, arrival),
        seed=message.seed if message.HasField("seed") else arrival.seed,
        request_id=decode_request_id(message),
        features=decode_features(message.features),
        supplied=decode_supplied(message.supplied, "supplied") if message.HasField("supplied") else None,
        exclude=decode_ids(message.exclude, "exclude"),
        predicates=decode_predicates(message.predicates),
        explain=message.explain,
    )


def encode_rank(query: Query) -> ranking_pb2.RankRequest:
    """The request for a query, `as_of` and `seed` included; its deadline travels with the call instead."""
    if not 1 <= query.k <= MAX_K:
        raise InvalidArgument("k", f"is {query.k}, where 1 to {MAX_K} are possible")
    if not 0 <= query.seed < 2**64:
        raise InvalidArgument("seed", f"{query.seed} is not an unsigned 64-bit number")
    return ranking_pb2.RankRequest(
        pipeline=query.pipeline,
        user=None if query.user is None else encode_key(query.user, "user"),
        features=encode_columns(query.features),
        k=query.k,
        supplied=None if query.supplied is None else encode_supplied(query.supplied, "supplied"),
        exclude=encode_ids(query.exclude, "exclude"),
        predicates=[encode_predicate(predicate) for predicate in query.predicates],
        as_of=encode_time(query.as_of),
        seed=query.seed,
        request_id=query.request_id,
        explain=query.explain,
    )


def encode_ranking(ranking: Ranking, request_id: str) -> ranking_pb2.RankResponse:
    return ranking_pb2.RankResponse(
        ids=encode_ids(ranking.ids),
        scores=write(ranking.scores, "<f4"),
        tasks=encode_tasks(ranking.tasks),
        sources=write(ranking.sources, "<u4"),
        source_names=ranking.source_names,
        stages=encode_stages(ranking.stages),
        models=ranking.models,
        degradations=encode_degradations(ranking.degradations),
        shortfall=ranking.shortfall,
        as_of=encode_time(ranking.as_of),
        seed=ranking.seed,
        request_id=request_id,
        explanation=None if ranking.explanation is None else encode_explanation(ranking.explanation),
    )


def decode_ranking(message: ranking_pb2.RankResponse) -> Ranking:
    """The ranking in a reply; InvalidArgument where its columns do not have one length."""
    ids = decode_ids(message.ids, "ids")
    scores = read(message.scores, "<f4", "reply", "scores")
    sources = read(message.sources, "<u4", "reply", "sources")
    if not len(ids) == len(scores) == len(sources):
        raise InvalidArgument("reply", f"has {len(ids)} ids, {len(scores)} scores and {len(sources)} sources")
    return Ranking(
        ids=ids,
        scores=scores,
        sources=sources,
        source_names=tuple(message.source_names),
        tasks=decode_tasks(message.tasks, len(ids)),
        stages=decode_stages(message.stages),
        models=dict(message.models),
        degradations=decode_degradations(message.degradations),
        shortfall=dict(message.shortfall),
        as_of=decode_time(message.as_of, "as_of"),
        seed=message.seed,
        explanation=decode_explanation(message.explanation) if message.HasField("explanation") else None,
    )
