"""What answers tell of the stages behind them, and of their scores."""

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from navi.core.arrays import F32
from navi.core.ranking import Degradation, Ranking, RowStatus, Scores, StageReport
from navi.server.buffer import Buffer, Count, Means, Values
from navi.server.instruments import Instruments

_BUCKETS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.25, 0.5, 1.0, 2.5)

SOURCE_PREFIX = "source."
"""What the names of stages begin with that fetch candidates."""

NON_FINITE = "non_finite"
"""The reason of a degradation whose rows have scores that are not finite."""


@dataclass(frozen=True, slots=True)
class _Stage:
    """What is counted of one stage, found together."""

    seconds: Values
    rows_in: Count
    rows_out: Count
    candidates: Count | None


class AnswerMetrics:
    """Counts answers of pipelines; shows after `flush`. Safe to use from many threads."""

    def __init__(self, make: Instruments) -> None:
        self._seconds = make.histogram("navi_stage_seconds", "Time in a stage.", _BUCKETS, "pipeline", "stage")
        self._rows = make.counter(
            "navi_stage_rows", "Candidates into and out of a stage.", "pipeline", "stage", "direction"
        )
        self._dropped = make.counter(
            "navi_stage_dropped", "Candidates that a stage dropped.", "pipeline", "stage", "reason"
        )
        self._degraded = make.counter(
            "navi_degraded", "Parts of answers that were left out.", "pipeline", "stage", "reason"
        )
        self._sources = make.counter(
            "navi_source_candidates", "Candidates that a source brought.", "pipeline", "source"
        )
        self._scores = make.summary("navi_task_score", "Mean score of an answer's items.", "pipeline", "task")
        self._non_finite = make.counter("navi_non_finite_scores", "Scores that are not finite.", "pipeline")
        self._buffer = Buffer()
        self._stage = cache(self._new_stage)
        self._drop = cache(lambda *labels: self._buffer.keep(Count(self._dropped(*labels))))
        self._mean = cache(lambda *labels: self._buffer.keep(Means(self._scores(*labels))))

    def count(self, pipeline: str, answer: Ranking | Scores) -> None:
        means = [(task, mean_of(scores)) for task, scores in answer.tasks.items()]
        with self._buffer.lock:
            for stage in answer.stages:
                self._count_stage(pipeline, stage)
            for task, mean in means:
                if math.isfinite(mean):
                    self._mean(pipeline, task).add(mean)
        for degradation in answer.degradations:
            self._count_degradation(pipeline, degradation)
        if isinstance(answer, Scores) and answer.status.any():
            self._non_finite(pipeline).inc(int(np.count_nonzero(answer.status == RowStatus.NON_FINITE)))

    def flush(self) -> None:
        self._buffer.flush()

    def _count_stage(self, pipeline: str, stage: StageReport) -> None:
        found = self._stage(pipeline, stage.name)
        found.seconds.add(stage.microseconds / 1e6)
        found.rows_in.add(stage.rows_in)
        found.rows_out.add(stage.rows_out)
        if found.candidates is not None:
            found.candidates.add(stage.rows_out)
        for reason, rows in stage.dropped.items():
            self._drop(pipeline, stage.name, reason).add(rows)

    def _count_degradation(self, pipeline: str, degradation: Degradation) -> None:
        self._degraded(pipeline, degradation.stage, degradation.reason).inc()
        if degradation.reason == NON_FINITE:
            self._non_finite(pipeline).inc(degradation.rows)

    def _new_stage(self, pipeline: str, stage: str) -> _Stage:
        source = stage.removeprefix(SOURCE_PREFIX)
        keep = self._buffer.keep
        return _Stage(
            keep(Values(self._seconds(pipeline, stage), _BUCKETS)),
            keep(Count(self._rows(pipeline, stage, "in"))),
            keep(Count(self._rows(pipeline, stage, "out"))),
            keep(Count(self._sources(pipeline, source))) if source != stage else None,
        )


def mean_of(scores: F32) -> float:
    """The mean of the finite ones among `scores` float32 [n]; NaN where there is none."""
    if not len(scores):
        return math.nan
    total: Any = np.add.reduce(scores, dtype=np.float64)
    if math.isfinite(total):
        return float(total) / len(scores)
    finite = scores[np.isfinite(scores)]
    return float(finite.mean(dtype=np.float64)) if len(finite) else math.nan
