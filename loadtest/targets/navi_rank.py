"""`navi.v1` Rank under load."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from loadtest.counts import Counts
from loadtest.population import Population
from loadtest.target import Reply
from loadtest.targets.navi_reply import parsed, reply_of
from navi.client.requests import rank_request
from navi.wire.ids_codec import encode_ids, encode_key
from navi.wire.v1 import ranking_pb2


@dataclass(frozen=True, slots=True, kw_only=True)
class NaviRank:
    """The best k for users of a population (None: anonymous callers).

    items: what candidates are supplied from, `counts` of them a request; None where the pipeline finds them all.
    features: of every request, by name, see `navi.client.values.as_row`.
    """

    users: Population | None = None
    k: int = 50
    pipeline: str = ""
    features: Mapping[str, object] = field(default_factory=dict)
    items: Population | None = None
    counts: Counts = field(default_factory=Counts)

    @property
    def method(self) -> str:
        return "/navi.v1.RankingService/Rank"

    def requests(self, count: int, generator: np.random.Generator) -> list[bytes]:
        # Serialised messages end to end are their merger: what all requests share is serialised once.
        common = rank_request(None, self.k, pipeline=self.pipeline, features=self.features).SerializeToString()
        users = [None] * count if self.users is None else self.users.draw(count, generator).tolist()
        numbers = self.counts.draw(count, generator)
        requests = []
        for user, number in zip(users, numbers.tolist(), strict=True):
            own = ranking_pb2.RankRequest(user=None if user is None else encode_key(user, "user"))
            if self.items is not None:
                own.supplied.ids.CopyFrom(encode_ids(self.items.distinct(number, generator)))
            requests.append(common + own.SerializeToString())
        return requests

    def read(self, reply: bytes) -> Reply:
        return reply_of(parsed(ranking_pb2.RankResponse, reply))
