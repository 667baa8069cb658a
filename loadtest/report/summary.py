"""The report's words and tables: the verdict first, the setting last."""

import json
import math
from collections.abc import Sequence
from xml.etree.ElementTree import Element

from loadtest.report.elements import Child, table, tag
from loadtest.report.verdict import Verdict, verdict_of
from loadtest.report.words import NONE, count, duration, percent, rate
from loadtest.result import FORMAT, OUTCOMES, Result

SIGNS = {"good": "✓", "warn": "!", "bad": "✕"}
TILES = ("p50", "p95", "p99", "p99.9")
PERCENTILES = ("p50", "p90", "p95", "p99", "p99.9", "max", "mean")
MEANING = {
    "degraded": "answered, but not in full",
    "shed": "refused, to be sent again later",
    "deadline": "past its deadline",
    "error": "failed",
}


def header(result: Result) -> Element:
    """What was measured, and the switch of themes, which appears where scripts run."""
    about = f"{result.protocol} · started {result.started} · {duration(result.seconds, short=True)}"
    title = tag("div", tag("h1", f"Load test of {result.target}"), tag("p", about, class_="muted small"))
    return tag("header", title, tag("button", "Theme: auto", id="theme", type="button", hidden="hidden"))


def verdict(result: Result) -> Element:
    """The answer in one line, the numbers under it, and whether to believe them."""
    found = verdict_of(result)
    sign = tag("span", SIGNS[found.tone], class_="sign", aria_hidden="true")
    head = tag("h2", sign, found.headline)
    parts = [head, tag("p", found.sentence), _tiles(result), *_outcomes(result), _trust(found, result)]
    return tag("section", *parts, class_=f"verdict {found.tone}")


def warnings(result: Result) -> list[Element]:
    """What the run itself warned of, where it did."""
    if not result.warnings:
        return []
    listed = tag("ul", *(tag("li", text) for text in result.warnings), class_="warnings")
    return [tag("section", tag("h2", "Warnings"), listed, class_="verdict-note")]


def percentiles(result: Result) -> Element:
    """All percentiles, from due time against from sending, and the lateness of sending."""
    columns = {"from due time": result.latency, "from sending": result.service, "lateness": result.lateness}
    rows = [
        (name, *(duration(found.get(percentile, math.nan)) for percentile in PERCENTILES))
        for name, found in columns.items()
    ]
    note = (
        "Answered calls, as a caller who keeps to the schedule sees them, and as the server answered what was sent. "
        "Lateness: of sending, all calls."
    )
    numbers = table(("", *PERCENTILES), rows, label="Percentiles")
    return tag("section", tag("h2", "Percentiles"), tag("p", note, class_="muted small"), numbers)


def errors(result: Result) -> list[Element]:
    """The commonest errors' texts."""
    if not result.errors:
        return []
    ranked = sorted(result.errors.items(), key=lambda pair: (-pair[1], pair[0]))
    rows = [(text, count(number)) for text, number in ranked]
    note = tag("p", "The commonest, as the client saw them.", class_="muted small")
    return [tag("section", tag("h2", "Errors"), note, _words(("error", "calls"), rows, label="Errors"))]


def setting(result: Result) -> list[Element]:
    """Plan and environment, as they were written down."""
    plan = {name: value if isinstance(value, str) else json.dumps(value) for name, value in result.plan.items()}
    blocks = [("Plan", plan), ("Environment", result.environment)]
    return [
        tag("section", tag("h2", title), _words(("name", "value"), list(pairs.items()) or [(NONE, NONE)], label=title))
        for title, pairs in blocks
    ]


def footer(result: Result) -> Element:
    """Where the numbers come from."""
    cpu = ""
    if result.server_seconds is not None:
        answered = result.outcomes.get("ok", 0) + result.outcomes.get("degraded", 0)
        each = f", {duration(result.server_seconds / answered)} for each call answered" if answered else ""
        cpu = f" CPU of the server process: {duration(result.server_seconds)}{each}."
    buckets = "Percentiles over time and the distribution are from buckets of 1.1 % width."
    return tag("footer", tag("p", f"{buckets}{cpu} Format {FORMAT}, made by navi loadtest."))


def _tiles(result: Result) -> Element:
    asked = f"of {rate(result.offered)} calls/s offered"
    tiles = [("served", f"{rate(result.served)}/s", asked), ("answered", _answered(result), "ok and degraded")]
    for name in TILES:
        sent = duration(result.service.get(name, math.nan))
        tiles.append((f"{name} from due time", duration(result.latency.get(name, math.nan)), f"{sent} from sending"))
    return tag(
        "dl",
        *(
            tag("div", tag("dt", name), tag("dd", value, class_="value"), tag("dd", note))
            for name, value, note in tiles
        ),
        class_="tiles",
    )


def _answered(result: Result) -> str:
    answered = result.outcomes.get("ok", 0) + result.outcomes.get("degraded", 0)
    return percent(answered / result.calls) if result.calls else NONE


def _outcomes(result: Result) -> list[Element]:
    """A bar of the outcomes' shares, and the counts under it."""
    calls = max(result.calls, 1)
    seen = [(name, result.outcomes.get(name, 0)) for name in OUTCOMES]
    pieces = [
        tag("i", style=f"flex:{number / calls:.5f} 1 0;background:var(--{name})") for name, number in seen if number
    ]
    keys = [
        tag(
            "li",
            tag("i", style=f"background:var(--{name})"),
            f"{name} {count(number)}" + (f" ({percent(number / calls)})" if number else ""),
            **({"title": MEANING[name]} if name in MEANING else {}),
        )
        for name, number in seen
    ]
    bar = [tag("div", *pieces, class_="bar", aria_hidden="true")] if pieces else []
    return [*bar, tag("ul", *keys, class_="key")]


def _trust(found: Verdict, result: Result) -> Element:
    said = "The generator can be trusted." if found.trusted else "The generator is not to be trusted on this run."
    plural = "" if len(result.warnings) == 1 else "s"
    notes = f" {count(len(result.warnings))} warning{plural} below." if result.warnings else ""
    items = [
        tag("li", f"{SIGNS['good' if check.holds else 'bad']} {check.name}: ", tag("b", check.found))
        for check in found.checks
    ]
    tone = "good" if found.trusted else "bad"
    return tag("div", tag("p", tag("strong", said), notes), tag("ul", *items), class_=f"trust {tone}")


def _words(header: Sequence[str], rows: Sequence[tuple[Child, Child]], *, label: str) -> Element:
    """A table whose cells may be long: they break instead of scrolling."""
    block = table(header, rows, label=label)
    block[0].set("class", "words")
    return block
