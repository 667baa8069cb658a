"""What both of Navi's own replies say of themselves."""

from typing import TypeVar

from google.protobuf.message import DecodeError

from loadtest.target import Reply
from navi.wire.v1 import ranking_pb2

R = TypeVar("R", ranking_pb2.RankResponse, ranking_pb2.ScoreResponse)


def parsed(kind: type[R], data: bytes) -> R:
    """ValueError where the bytes are no such reply."""
    try:
        return kind.FromString(data)
    except DecodeError as error:
        raise ValueError(f"it is no {kind.DESCRIPTOR.full_name}") from error


def reply_of(message: ranking_pb2.RankResponse | ranking_pb2.ScoreResponse) -> Reply:
    """degraded: a stage says that it left something out."""
    stages = {stage.name: stage.microseconds * 1e-6 for stage in message.stages}
    return Reply("degraded" if message.degradations else "ok", stages)
