"""The client itself."""

from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Literal, Self, TypeVar, Unpack

from google.protobuf.message import Message

from navi.client.admin import Models
from navi.client.channel import Channel, ChannelOptions
from navi.client.ids import as_ids
from navi.client.options import CallOptions, Keys, PriorityName, RankOptions
from navi.client.requests import rank_request, score_request
from navi.client.values import as_columns
from navi.core.arrays import Array
from navi.core.errors import FaultError, InvalidArgument
from navi.core.ids import Key
from navi.core.ranking import Ranking, Scores
from navi.wire.feature_codec import Mode, Upsert, decode_found, encode_upsert
from navi.wire.ids_codec import encode_ids
from navi.wire.rank_codec import decode_ranking
from navi.wire.score_codec import decode_scores
from navi.wire.v1 import features_pb2, ranking_pb2

T = TypeVar("T")
M = TypeVar("M", bound=Message)


class Client:
    """Calls one Navi server. Safe to use from many threads; a context manager that closes its connection.

    Every method raises errors of `navi.core.errors`: InvalidArgument (`field` names what is wrong), NotFound,
    Unauthenticated, PermissionDenied, Overloaded (`retry_after_s`), Unavailable, DeadlineExceeded, Cancelled, or a
    FaultError where the server failed.
    """

    def __init__(
        self,
        target: str,
        *,
        timeout_s: float = 5.0,
        priority: PriorityName | Literal[""] = "",
        **options: Unpack[ChannelOptions],
    ) -> None:
        """target: host:port, or any other gRPC target. timeout_s, priority: deadline and priority of calls that name
        none; empty: organic.
        """
        self._channel = Channel.open(target, **options)
        self._timeout_s = timeout_s
        self._priority = priority

    def rank(self, user: Key | None = None, *, k: int = 10, **options: Unpack[RankOptions]) -> Ranking:
        """The best k for a user (None: anonymous)."""
        request = rank_request(user, k, **options)
        reply = self._ask("Rank", request, ranking_pb2.RankResponse, options)
        return _decoded(decode_ranking, reply)

    def score(self, candidates: Keys, user: Key | None = None, **options: Unpack[CallOptions]) -> Scores:
        """Scores of these candidates for a user, position for position."""
        request = score_request(user, candidates, **options)
        reply = self._ask("Score", request, ranking_pb2.ScoreResponse, options)
        return _decoded(decode_scores, reply)

    def upsert(self, keys: Keys, columns: Mapping[str, object], *, store: str = "", mode: Mode = "merge") -> int:
        """Write a row for each key, all or none; how many. Durable when it returns.

        columns: values by feature, see `values.as_columns`; a missing value leaves that feature of that row out.
        store: its name; the only one where left out.
        """
        rows = Upsert(store=store, keys=as_ids(keys, "keys"), columns=as_columns(columns), mode=mode)
        request = encode_upsert(rows)
        path = "/navi.v1.FeatureService/Upsert"
        return int(self._channel.call(path, request, features_pb2.UpsertResponse, self._timeout_s).rows)

    def get(self, keys: Keys, names: Sequence[str] = (), *, store: str = "") -> list[dict[str, Array] | None]:
        """The rows of these keys, name -> values [width]; None for an unknown key. names: all features where empty."""
        request = features_pb2.GetRequest(store=store, keys=encode_ids(as_ids(keys, "keys"), "keys"), names=names)
        reply = self._channel.call("/navi.v1.FeatureService/Get", request, features_pb2.GetResponse, self._timeout_s)
        return _decoded(decode_found, reply).rows()

    def delete(self, keys: Keys, *, store: str = "") -> int:
        """Forget these keys; how many there were."""
        request = features_pb2.DeleteRequest(store=store, keys=encode_ids(as_ids(keys, "keys"), "keys"))
        path = "/navi.v1.FeatureService/Delete"
        return int(self._channel.call(path, request, features_pb2.DeleteResponse, self._timeout_s).deleted)

    @property
    def models(self) -> Models:
        """What operators ask of the server's models."""
        return Models(self._channel)

    def wait_ready(self, timeout_s: float) -> None:
        """Return once the server says that it serves; Unavailable where it does not within `timeout_s`."""
        self._channel.wait_ready(timeout_s)

    def close(self) -> None:
        self._channel.close()

    def _ask(self, method: str, request: Message, reply: type[M], options: CallOptions) -> M:
        path, timeout_s = f"/navi.v1.RankingService/{method}", options.get("timeout_s", self._timeout_s)
        return self._channel.call(path, request, reply, timeout_s, options.get("priority", self._priority))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def _decoded(decode: Callable[[M], T], reply: M) -> T:
    try:
        return decode(reply)
    except InvalidArgument as error:
        raise FaultError(f"the server's reply is damaged: {error}") from error
