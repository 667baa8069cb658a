"""`navi.v1.RankingService`: requests to queries, answers to replies; nothing else."""

from dataclasses import dataclass, replace
from random import getrandbits

from navi.core.clock import Clock
from navi.core.errors import NaviError
from navi.core.pipeline import Pipeline
from navi.core.query import Query
from navi.core.ranking import Ranking, Scores
from navi.server.call import Call, Handler
from navi.server.choose import choose
from navi.server.engine import Engine, Pipelines
from navi.server.metrics import Metrics
from navi.server.quality_ladder import QualityLadder
from navi.wire.buffers import parse
from navi.wire.query_codec import Arrival, decode_request_id
from navi.wire.rank_codec import decode_rank, encode_ranking
from navi.wire.score_codec import decode_score, encode_scores
from navi.wire.v1 import ranking_pb2

SERVICE = ranking_pb2.DESCRIPTOR.services_by_name["RankingService"].full_name

SEED_BITS = 53
"""Bits of a seed that the server picks: a JSON reader can still repeat it exactly."""


@dataclass(frozen=True, slots=True)
class RankingService:
    """Answers `Rank` and `Score` by the pipeline that a request names."""

    engine: Engine
    metrics: Metrics
    clock: Clock
    ladder: QualityLadder

    @property
    def methods(self) -> dict[str, Handler]:
        return {"Rank": self.rank, "Score": self.score}

    def rank(self, request: bytes, call: Call) -> bytes:
        message = parse(ranking_pb2.RankRequest, request)
        with self.engine.serving(self._key(message, call)) as held:
            pipeline = self._pipeline(message, call, held)
            query = self._asked(call, self.ladder.eased(call.pipeline, decode_rank(message, self._arrival(call))))
            [answer] = pipeline.rank_many([query])
            if isinstance(answer, NaviError):
                raise answer
            self._answered(call, query, answer)
        return encode_ranking(answer, query.request_id).SerializeToString()

    def score(self, request: bytes, call: Call) -> bytes:
        message = parse(ranking_pb2.ScoreRequest, request)
        with self.engine.serving(self._key(message, call)) as held:
            pipeline = self._pipeline(message, call, held)
            query = self._asked(call, decode_score(message, self._arrival(call)))
            [answer] = pipeline.score_many([query])
            if isinstance(answer, NaviError):
                raise answer
            self._answered(call, query, answer)
        return encode_scores(answer, query.request_id).SerializeToString()

    def _key(self, message: ranking_pb2.RankRequest | ranking_pb2.ScoreRequest, call: Call) -> str:
        """What decides where traffic is split: the user, or the request's id where there is none."""
        call.pipeline = "unknown"
        call.request_id = message.request_id = decode_request_id(message) or call.request_id
        kind = message.user.WhichOneof("kind") if message.HasField("user") else None
        return call.request_id if kind is None else str(getattr(message.user, kind))

    def _pipeline(
        self, message: ranking_pb2.RankRequest | ranking_pb2.ScoreRequest, call: Call, held: Pipelines
    ) -> Pipeline:
        call.pipeline, pipeline = choose("pipeline", message.pipeline, held.pipelines)
        return pipeline

    def _answered(self, call: Call, query: Query, answer: Ranking | Scores) -> None:
        call.answer = answer
        self.metrics.answered(call.pipeline, answer)
        self.engine.answered(call.pipeline, query, answer)

    def _asked(self, call: Call, query: Query) -> Query:
        query = query if query.priority is call.priority else replace(query, priority=call.priority)
        call.query, call.asked_at = query, self.clock.monotonic()
        return query

    def _arrival(self, call: Call) -> Arrival:
        return Arrival(call.deadline, now=self.clock.time(), seed=getrandbits(SEED_BITS))
