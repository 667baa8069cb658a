"""The status page at `/`, made from what the server is and what it has counted."""

from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup
from prometheus_client import Metric

from navi import __version__
from navi.server.facts import ServerFacts
from navi.server.page import engine, funnel, traffic, units
from navi.server.page.recent import Recent, Window
from navi.server.page.samples import Samples
from navi.server.page.traffic import Spans

_FILTERS: tuple[Callable[..., str], ...] = (
    units.age,
    units.count,
    units.estimate,
    units.seconds,
    units.share,
    units.size,
    units.span,
)


def render(
    facts: ServerFacts, families: Iterable[Metric], *, ready: bool, now: float, recent: Recent | None = None
) -> bytes:
    """UTF-8 HTML that needs nothing else. now: seconds since the epoch; recent: None stands for all since the start."""
    total = Samples.of(families)
    window = Window(max(now - facts.started, 0.0), total) if recent is None else recent.window(total)
    spans = Spans(window.samples, total, window.seconds)
    state = {"facts": facts, "ready": ready, "now": now, "started": _utc(facts.started), "version": __version__}
    return _template().render({**state, **_counted(spans, facts)}).encode()


@cache
def policy() -> str:
    """The Content-Security-Policy to send the page with: its own style and script, and nothing from anywhere."""
    style, script = (b64encode(sha256(_text(name).encode()).digest()).decode() for name in ("status.css", "status.js"))
    rules = f"default-src 'none'; style-src 'sha256-{style}'; script-src 'sha256-{script}'; img-src data:"
    return f"{rules}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"


def _counted(spans: Spans, facts: ServerFacts) -> Mapping[str, Any]:
    minute, total = spans.minute, spans.total
    cpu = "process_cpu_seconds_total"
    return {
        "spans": spans,
        "meanings": traffic.MEANINGS,
        "rate": traffic.rate(minute.total("navi_requests_total"), spans),
        "outcomes": traffic.outcomes(spans),
        "callers": traffic.tally(spans, "navi_requests_total", ("caller",)),
        "requests": traffic.timed(spans, "navi_request_seconds", ("method", "pipeline")),
        "stages": traffic.timed(spans, "navi_stage_seconds", ("stage", "pipeline")),
        "degradations": funnel.degradations(spans),
        "flows": funnel.flows(spans),
        "sources": funnel.sources(spans),
        "scores": funnel.scores(spans),
        "non_finite": traffic.tally(spans, "navi_non_finite_scores_total", ("pipeline",)),
        "models": engine.models(spans, facts.models),
        "caches": engine.caches(spans),
        "workers": engine.workers(spans),
        "memory": total.total("process_resident_memory_bytes"),
        "cores": traffic.rate(minute.total(cpu), spans) if total.has(cpu) else None,
        "unexpected": total.total("navi_unexpected_errors_total"),
        "recorded": traffic.tally(spans, "navi_recorded_calls_total", ("kind",)),
        "unrecorded": total.by(("kind",), "navi_recording_dropped_total"),
    }


@cache
def _template() -> Template:
    found = Environment(
        loader=PackageLoader("navi.server.page", package_path=""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters |= {made.__name__: made for made in _FILTERS}
    found.globals |= {"style": Markup(_text("status.css")), "script": Markup(_text("status.js"))}
    return found.get_template("status.html")


def _text(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _utc(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
