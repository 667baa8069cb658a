"""The parts of a request that `Rank` and `Score` have in common."""

from collections.abc import Iterable
from dataclasses import dataclass

from navi.core.column import Column
from navi.core.deadline import Deadline
from navi.core.errors import InvalidArgument
from navi.core.ids import Key
from navi.core.query import Supplied
from navi.wire.column_codec import decode_columns, encode_columns
from navi.wire.ids_codec import decode_ids, decode_key, encode_ids
from navi.wire.time_codec import decode_time
from navi.wire.v1 import ranking_pb2, types_pb2

MAX_REQUEST_ID = 256
"""Characters."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """What a query has from the server: its deadline, and the time and seed to use where the request has none."""

    deadline: Deadline
    now: float
    seed: int


def decode_user(message: ranking_pb2.RankRequest | ranking_pb2.ScoreRequest) -> Key | None:
    return decode_key(message.user, "user") if message.HasField("user") else None


def decode_features(messages: Iterable[types_pb2.Column]) -> dict[str, Column]:
    """Request features, one row each."""
    return decode_columns(messages, "features", rows=1)


def decode_as_of(message: ranking_pb2.RankRequest | ranking_pb2.ScoreRequest, arrival: Arrival) -> float:
    return decode_time(message.as_of, "as_of") if message.HasField("as_of") else arrival.now


def decode_request_id(message: ranking_pb2.RankRequest | ranking_pb2.ScoreRequest) -> str:
    if len(message.request_id) > MAX_REQUEST_ID:
        raise InvalidArgument("request_id", f"has {len(message.request_id)} characters, more than {MAX_REQUEST_ID}")
    return message.request_id


def decode_supplied(message: ranking_pb2.Candidates, path: str) -> Supplied:
    ids = decode_ids(message.ids, f"{path}.ids")
    return Supplied(ids=ids, columns=decode_columns(message.columns, f"{path}.columns", rows=len(ids)))


def encode_supplied(supplied: Supplied, path: str) -> ranking_pb2.Candidates:
    ids = encode_ids(supplied.ids, f"{path}.ids")
    return ranking_pb2.Candidates(ids=ids, columns=encode_columns(supplied.columns))
