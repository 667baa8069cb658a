"""What the server counts of its calls."""

from collections.abc import Callable, Iterable
from threading import Lock

from prometheus_client import CollectorRegistry, Gauge, ProcessCollector
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from navi.core.ranking import Ranking, Scores
from navi.server.answer_metrics import AnswerMetrics
from navi.server.call import Call, Ending
from navi.server.instruments import Instruments

_BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

Sample = Callable[[], None]
"""Brings metrics up to date that are not fed by events."""


class Metrics:
    """The server's own metrics in a registry of its own; others may register theirs beside them.

    Label values are bounded: methods, codes and outcomes by the protocol, callers by `Callers`, all else by the
    configuration and the code. Where workers share their metrics, prometheus_client's `ValueClass` has to be chosen
    before this is made.
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._samples = _Samples()
        self.registry.register(self._samples)  # the first one, so that a scrape finds the others up to date
        ProcessCollector(registry=self.registry)
        make = Instruments(self.registry)
        self._requests = make.counter(
            "navi_requests", "Calls that ended.", "method", "pipeline", "caller", "outcome", "code"
        )
        self._seconds = make.histogram(
            "navi_request_seconds", "From the door to the reply.", _BUCKETS, "method", "pipeline"
        )
        self._in_flight = Gauge(
            "navi_in_flight",
            "Calls in flight, waiting ones included.",
            registry=self.registry,
            multiprocess_mode="livesum",
        )
        self._in_flight.set(0)  # a worker goes on with the numbers of the one that it replaces
        self._refused = make.counter("navi_refused", "Calls refused at the door, by why.", "method", "caller", "reason")
        self._skipped = make.counter("navi_skipped", "Calls dropped while they waited, by why.", "method", "reason")
        self._unexpected = make.counter("navi_unexpected_errors", "Errors that nobody foresaw.", "method")
        self._reloads = make.counter(
            "navi_security_reloads", "Changed files of certificates and tokens, read again.", "kind", "outcome"
        )
        self._recorded = make.counter("navi_recorded_calls", "Calls written to a file.", "kind")
        self._unrecorded = make.counter("navi_recording_dropped", "Calls that should have been, and were not.", "kind")
        self._answers = AnswerMetrics(make)
        self.sample_with(self._answers.flush)

    def sample_with(self, sample: Sample) -> None:
        """Let `sample` run as a part of `sample()`."""
        self._samples.each.append(sample)

    def sample(self) -> None:
        """Bring what is polled or kept back up to date. Happens by itself before each scrape of `registry`.

        A worker, whose registry nobody scrapes, calls this once a second. Safe to use from many threads.
        """
        self._samples.run()

    def entered(self) -> None:
        """A call passed the door."""
        self._in_flight.inc()

    def left(self) -> None:
        """Nobody works any more on a call that had passed."""
        self._in_flight.dec()

    def ended(self, call: Call, ending: Ending) -> None:
        """A call that had passed ended for its caller."""
        self._requests(call.method, call.pipeline, call.caller, ending.outcome, ending.code).inc()
        self._seconds(call.method, call.pipeline).observe(ending.seconds)

    def refused(self, method: str, caller: str, reason: str) -> None:
        """A call was refused at the door, before anything of it was read."""
        self._requests(method, "", caller, "shed", "RESOURCE_EXHAUSTED").inc()
        self._refused(method, caller, reason).inc()

    def skipped(self, method: str, reason: str) -> None:
        """A call that had passed was not worked on: it was `cancelled`, or past its `deadline` by then."""
        self._skipped(method, reason).inc()

    def turned_away(self, method: str, code: str) -> None:
        """A call was refused at the gate, for who its caller is or is not."""
        self._requests(method, "", "", "invalid", code).inc()

    def reloaded(self, kind: str, went_well: bool) -> None:
        """Files (`tls`, `tokens`) had changed and were read again, or could not be."""
        self._reloads(kind, "ok" if went_well else "failed").inc()

    def unexpected(self, method: str) -> None:
        self._unexpected(method).inc()

    def answered(self, pipeline: str, answer: Ranking | Scores) -> None:
        """A pipeline answered."""
        self._answers.count(pipeline, answer)

    def recorded(self, kind: str, calls: int = 1) -> None:
        """Calls were written to a file (`slow`, `log`)."""
        self._recorded(kind).inc(calls)

    def unrecorded(self, kind: str, calls: int = 1) -> None:
        """Calls should have been written to a file, and were not."""
        self._unrecorded(kind).inc(calls)


class _Samples(Collector):
    """Has no metrics: being collected, it brings those of others up to date."""

    def __init__(self) -> None:
        self.each: list[Sample] = []
        self._lock = Lock()

    def run(self) -> None:
        with self._lock:
            for sample in self.each:
                sample()

    def describe(self) -> Iterable[Metric]:
        return ()

    def collect(self) -> Iterable[Metric]:
        self.run()
        return ()
