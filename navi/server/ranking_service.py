"""`navi.v1.RankingService`: requests to queries, answers to replies; nothing else."""

from collections.abc import Mapping
from dataclasses import dataclass
from secrets import randbits

from navi.core.clock import Clock
from navi.core.errors import NaviError
from navi.core.pipeline import Pipeline
from navi.server.call import Call, Handler
from navi.server.choose import choose
from navi.server.metrics import Metrics
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

    pipelines: Mapping[str, Pipeline]
    metrics: Metrics
    clock: Clock

    @property
    def methods(self) -> dict[str, Handler]:
        return {"Rank": self.rank, "Score": self.score}

    def rank(self, request: bytes, call: Call) -> bytes:
        message = parse(ranking_pb2.RankRequest, request)
        pipeline = self._pipeline(message, call)
        query = decode_rank(message, self._arrival(call))
        [answer] = pipeline.rank_many([query])
        if isinstance(answer, NaviError):
            raise answer
        self.metrics.answered(call.pipeline, answer)
        return encode_ranking(answer, query.request_id).SerializeToString()

    def score(self, request: bytes, call: Call) -> bytes:
        message = parse(ranking_pb2.ScoreRequest, request)
        pipeline = self._pipeline(message, call)
        query = decode_score(message, self._arrival(call))
        [answer] = pipeline.score_many([query])
        if isinstance(answer, NaviError):
            raise answer
        self.metrics.answered(call.pipeline, answer)
        return encode_scores(answer, query.request_id).SerializeToString()

    def _pipeline(self, message: ranking_pb2.RankRequest | ranking_pb2.ScoreRequest, call: Call) -> Pipeline:
        call.pipeline = "unknown"
        name, pipeline = choose("pipeline", message.pipeline, self.pipelines)
        call.pipeline, call.request_id = name, decode_request_id(message)
        return pipeline

    def _arrival(self, call: Call) -> Arrival:
        return Arrival(call.deadline, now=self.clock.time(), seed=randbits(SEED_BITS))
