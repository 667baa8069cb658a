"""How a benchmark asks for scores: one entry a protocol."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from loadtest.bench.protocols_kserve import KServeInfer
from loadtest.bench.workload import Workload
from navi.client.requests import score_request
from navi.core.arrays import F32
from navi.core.column import Column
from navi.core.errors import FaultError, InvalidArgument
from navi.core.ranking import RowStatus
from navi.wire.buffers import parse
from navi.wire.score_codec import decode_scores
from navi.wire.v1 import ranking_pb2


class ScoringProtocol(Protocol):
    """A way to ask for scores of given candidates."""

    @property
    def says(self) -> str:
        """What the table calls it."""
        ...

    @property
    def method(self) -> str: ...

    def request(self, workload: Workload, at: int) -> bytes:
        """The workload's request number `at`."""
        ...

    def probabilities(self, reply: bytes) -> F32:
        """[rows, tasks], in the order of the model's tasks; FaultError where a row has none."""
        ...


@dataclass(frozen=True, slots=True)
class NaviScore:
    """`navi.v1.RankingService/Score`. columns: whether the candidates' features travel, or only their ids."""

    columns: bool

    @property
    def says(self) -> str:
        return "feature columns" if self.columns else "ids only"

    @property
    def method(self) -> str:
        return "/navi.v1.RankingService/Score"

    def request(self, workload: Workload, at: int) -> bytes:
        message = score_request(
            None if workload.user is None else workload.user[at].item(),
            workload.ids[at],
            as_of=workload.as_of,
            features={name: values[at] for name, values in workload.request.items()},
            columns={name: _column(values[at]) for name, values in workload.items.items()} if self.columns else {},
        )
        return message.SerializeToString()

    def probabilities(self, reply: bytes) -> F32:
        scores = decode_scores(parse(ranking_pb2.ScoreResponse, reply))
        if scores.degradations or (scores.status != RowStatus.OK).any():
            raise FaultError("a measured call was not answered in full")
        return np.stack(list(scores.tasks.values()), axis=1)


PROTOCOLS: Mapping[str, ScoringProtocol] = {
    "columns": NaviScore(columns=True),
    "ids": NaviScore(columns=False),
    "kserve": KServeInfer(ids=False),
    "kserve-ids": KServeInfer(ids=True),
}


def _column(values: np.ndarray) -> Column:
    return Column(values.astype(object) if values.dtype.kind == "U" else values)


def chosen(names: Sequence[str]) -> list[str]:
    """The names themselves; InvalidArgument for one that is none."""
    for name in names:
        if name not in PROTOCOLS:
            raise InvalidArgument("protocol", f"{name!r} is none of {', '.join(PROTOCOLS)}")
    return list(names)
