"""How many calls ended how, and how long they took."""

from dataclasses import dataclass

from navi.server.page.histogram import Estimate, Histogram
from navi.server.page.samples import Samples
from navi.server.page.units import ratio

FULL, DEGRADED = "ok", "degraded"
MEANINGS = {
    FULL: "the full answer",
    DEGRADED: "an answer, but not the full one",
    "shed": "refused at the door: too much in flight to be answered in time, or a quota used up",
    "deadline": "not done in the caller's time",
    "cancelled": "the caller went away",
    "invalid": "a request that cannot be answered",
    "unavailable": "something that is needed was not there",
    "error": "failed, by our fault",
}


@dataclass(frozen=True, slots=True)
class Spans:
    """The last `seconds`, and all since the start (which are the current values of gauges, too)."""

    minute: Samples
    total: Samples
    seconds: float


@dataclass(frozen=True, slots=True)
class Tally:
    """How often something happened; whole: of how many, in the same two spans."""

    labels: tuple[str, ...]
    minute: float
    total: float
    minute_whole: float
    total_whole: float


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds, estimated from a histogram's buckets; None where nothing was timed."""

    calls: float
    p50: Estimate | None
    p95: Estimate | None
    p99: Estimate | None

    @classmethod
    def of(cls, histogram: Histogram) -> "Timing":
        p50, p95, p99 = (histogram.quantile(q) for q in (0.5, 0.95, 0.99))
        return cls(histogram.count, p50, p95, p99)


@dataclass(frozen=True, slots=True)
class Timed:
    """How long something took. bars: p50, p95 and p99 in percent of the table's longest p99."""

    labels: tuple[str, ...]
    minute: Timing
    total: Timing
    bars: tuple[float, ...]


def tally(spans: Spans, metric: str, labels: tuple[str, ...], **only: str) -> list[Tally]:
    """One row for each combination of the labels' values; most of the last minute first."""
    minute, total = spans.minute.by(labels, metric, **only), spans.total.by(labels, metric, **only)
    wholes = sum(minute.values()), sum(total.values())
    rows = [Tally(key, minute.get(key, 0.0), count, *wholes) for key, count in total.items()]
    return sorted(rows, key=lambda row: (-row.minute, -row.total, row.labels))


def outcomes(spans: Spans) -> list[Tally]:
    """Every outcome, those that never happened included, in the order of MEANINGS."""
    rows = {row.labels[0]: row for row in tally(spans, "navi_requests_total", ("outcome",))}
    wholes = spans.minute.total("navi_requests_total"), spans.total.total("navi_requests_total")
    named = [rows.pop(name, Tally((name,), 0, 0, *wholes)) for name in MEANINGS]
    return [*named, *rows.values()]


def timed(spans: Spans, metric: str, labels: tuple[str, ...]) -> list[Timed]:
    """One row for each combination of the labels' values, in their order of appearance.

    Bars are of the last minute, or, where the whole table was quiet then, since the start.
    """
    keys = list(spans.total.by(labels, f"{metric}_count"))
    timings = {key: _timings(spans, metric, dict(zip(labels, key, strict=True))) for key in keys}
    quiet = not any(minute.calls for minute, _ in timings.values())
    shown = {key: total if quiet else minute for key, (minute, total) in timings.items()}
    scale = max((found.p99.value for found in shown.values() if found.p99 is not None), default=0.0)
    return [Timed(key, minute, total, _bars(shown[key], scale)) for key, (minute, total) in timings.items()]


def _bars(timing: Timing, scale: float) -> tuple[float, ...]:
    found = (timing.p50, timing.p95, timing.p99)
    return tuple(round(100 * one.value / scale, 1) for one in found if one is not None) if scale else ()


def _timings(spans: Spans, metric: str, labels: dict[str, str]) -> tuple[Timing, Timing]:
    return Timing.of(spans.minute.histogram(metric, **labels)), Timing.of(spans.total.histogram(metric, **labels))


def rate(value: float, spans: Spans) -> float | None:
    """A second."""
    return ratio(value, spans.seconds)
