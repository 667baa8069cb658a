"""`navi.v1` Score under load."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from loadtest.counts import Counts
from loadtest.population import Population
from loadtest.target import Reply
from loadtest.targets.navi_reply import parsed, reply_of
from navi.client.values import as_row
from navi.wire.column_codec import encode_columns
from navi.wire.ids_codec import encode_ids, encode_key
from navi.wire.v1 import ranking_pb2


@dataclass(frozen=True, slots=True, kw_only=True)
class NaviScore:
    """Scores of `counts` different items a request, for users of a population (None: anonymous callers).

    features: of every request, by name, see `navi.client.values.as_row`.
    """

    items: Population
    users: Population | None = None
    counts: Counts = field(default_factory=Counts)
    pipeline: str = ""
    features: Mapping[str, object] = field(default_factory=dict)

    @property
    def method(self) -> str:
        return "/navi.v1.RankingService/Score"

    def requests(self, count: int, generator: np.random.Generator) -> list[bytes]:
        features = encode_columns(as_row(self.features))
        # Serialised messages end to end are their merger: what all requests share is serialised once.
        common = ranking_pb2.ScoreRequest(pipeline=self.pipeline, features=features).SerializeToString()
        users = [None] * count if self.users is None else self.users.draw(count, generator).tolist()
        requests = []
        for user, number in zip(users, self.counts.draw(count, generator).tolist(), strict=True):
            own = ranking_pb2.ScoreRequest(user=None if user is None else encode_key(user, "user"))
            own.candidates.ids.CopyFrom(encode_ids(self.items.distinct(number, generator)))
            requests.append(common + own.SerializeToString())
        return requests

    def read(self, reply: bytes) -> Reply:
        """ValueError also where no candidate was scored: a test with unknown ids measures nothing."""
        message = parsed(ranking_pb2.ScoreResponse, reply)
        if message.status and not message.status.count(0):
            raise ValueError(f"none of its {len(message.status)} candidates was scored: does the server know the ids?")
        return reply_of(message)
