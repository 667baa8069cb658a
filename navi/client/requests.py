"""From a caller's words to request messages."""

from collections.abc import Iterable
from typing import Unpack

from navi.client.ids import as_ids
from navi.client.options import CallOptions, Condition, Keys, RankOptions
from navi.client.values import as_columns, as_row, as_values
from navi.core.deadline import Deadline
from navi.core.errors import InvalidArgument
from navi.core.ids import Key
from navi.core.query import Predicate, Query, Supplied
from navi.wire.rank_codec import encode_rank
from navi.wire.score_codec import encode_score
from navi.wire.v1 import ranking_pb2


def rank_request(user: Key | None, k: int, **options: Unpack[RankOptions]) -> ranking_pb2.RankRequest:
    candidates, columns = options.get("candidates"), options.get("columns")
    if candidates is None and columns:
        raise InvalidArgument("columns", "belong to candidates, and none are given")
    supplied = None if candidates is None else _supplied(candidates, options)
    request = encode_rank(
        Query(
            pipeline=options.get("pipeline", ""),
            user=user,
            k=k,
            deadline=Deadline.never(),
            as_of=options.get("as_of", 0.0),
            seed=options.get("seed", 0),
            request_id=options.get("request_id", ""),
            features=as_row(options.get("features", {})),
            supplied=supplied,
            exclude=as_ids(options.get("exclude", ()), "exclude"),
            predicates=_predicates(options.get("predicates", ())),
            explain=options.get("explain", False),
        )
    )
    for field in {"as_of", "seed"} - options.keys():
        request.ClearField(field)  # the server's choice
    return request


def score_request(user: Key | None, candidates: Keys, **options: Unpack[CallOptions]) -> ranking_pb2.ScoreRequest:
    request = encode_score(
        Query(
            pipeline=options.get("pipeline", ""),
            user=user,
            k=1,
            deadline=Deadline.never(),
            as_of=options.get("as_of", 0.0),
            request_id=options.get("request_id", ""),
            features=as_row(options.get("features", {})),
            supplied=_supplied(candidates, options),
        )
    )
    if "as_of" not in options:
        request.ClearField("as_of")
    return request


def _supplied(candidates: Keys, options: CallOptions) -> Supplied:
    columns = as_columns(options.get("columns", {}))
    return Supplied(ids=as_ids(candidates, "candidates"), columns=columns)


def _predicates(conditions: Iterable[Condition]) -> tuple[Predicate, ...]:
    return tuple(
        Predicate(column=column, operator=operator, values=as_values(values, f"predicates ({column})"))
        for column, operator, values in conditions
    )
