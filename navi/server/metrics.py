"""What the server counts."""

from collections.abc import Callable
from functools import cache

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector

from navi.core.ranking import Degradation, Ranking, Scores, StageReport

_CALL_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_STAGE_BUCKETS = (0.0001, 0.00025, 0.0005, *_CALL_BUCKETS[:-2])


class Metrics:
    """The server's own metrics in a registry of its own; others may register collectors beside them.

    Label values are bounded: methods and codes by the protocol, pipelines and stages by the configuration, reasons by
    the stages' code.
    """

    def __init__(self, in_flight: Callable[[], float]) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self._requests = self._counter("navi_requests", "Calls that ended.", "method", "pipeline", "code")
        self._seconds = self._histogram(
            "navi_request_seconds", "From the door to the reply.", _CALL_BUCKETS, "method", "pipeline"
        )
        self._refused = self._counter("navi_refused", "Calls refused at the door.", "method")
        self._unexpected = self._counter("navi_unexpected_errors", "Errors that nobody foresaw.", "method")
        self._stage_seconds = self._histogram(
            "navi_stage_seconds", "Time in a stage.", _STAGE_BUCKETS, "pipeline", "stage"
        )
        self._stage_rows = self._counter(
            "navi_stage_rows", "Candidates into and out of a stage.", "pipeline", "stage", "direction"
        )
        self._dropped = self._counter(
            "navi_stage_dropped", "Candidates that a stage dropped.", "pipeline", "stage", "reason"
        )
        self._degraded = self._counter(
            "navi_degraded", "Answers that were not the full answer.", "pipeline", "stage", "reason"
        )
        gauge = Gauge("navi_in_flight", "Calls in flight, waiting ones included.", registry=self.registry)
        gauge.set_function(in_flight)

    def ended(self, method: str, pipeline: str, code: str, seconds: float) -> None:
        """A call that had a permit ended."""
        self._requests(method, pipeline, code).inc()
        self._seconds(method, pipeline).observe(seconds)

    def refused(self, method: str, code: str) -> None:
        """A call was refused at the door, before anything of it was read."""
        self._requests(method, "", code).inc()
        self._refused(method).inc()

    def unexpected(self, method: str) -> None:
        self._unexpected(method).inc()

    def answered(self, pipeline: str, answer: Ranking | Scores) -> None:
        """A pipeline answered; counts what its stages report."""
        for stage in answer.stages:
            self._stage(pipeline, stage)
        for degradation in answer.degradations:
            self._degradation(pipeline, degradation)

    def _stage(self, pipeline: str, stage: StageReport) -> None:
        self._stage_seconds(pipeline, stage.name).observe(stage.microseconds / 1e6)
        self._stage_rows(pipeline, stage.name, "in").inc(stage.rows_in)
        self._stage_rows(pipeline, stage.name, "out").inc(stage.rows_out)
        for reason, rows in stage.dropped.items():
            self._dropped(pipeline, stage.name, reason).inc(rows)

    def _degradation(self, pipeline: str, degradation: Degradation) -> None:
        self._degraded(pipeline, degradation.stage, degradation.reason).inc()

    def _counter(self, name: str, text: str, *labels: str) -> Callable[..., Counter]:
        return cache(Counter(name, text, labels, registry=self.registry).labels)

    def _histogram(self, name: str, text: str, buckets: tuple[float, ...], *labels: str) -> Callable[..., Histogram]:
        return cache(Histogram(name, text, labels, registry=self.registry, buckets=buckets).labels)
