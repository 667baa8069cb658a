"""The status page: what it tells is what was counted, and a browser shows it to anybody, in both themes."""

import html.parser
import http.client
from urllib.parse import urlparse

import pytest
from chromium import MISSING, PROGRAM, browser
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from navi.core import Degradation
from navi.core.clock import ManualClock
from navi.server.facts import ModelFacts, ServerFacts
from navi.server.page import units
from navi.server.page.histogram import Estimate
from navi.server.page.recent import Recent
from navi.server.page.samples import Samples, growth
from navi.server.page.status_page import policy, render

START = 1_000_000.0
FACTS = ServerFacts(bundle="demo", digest="d1ge57" * 10, started=START - 90)


class Tables(html.parser.HTMLParser):
    """The texts of a page's tables, rows of cells by the table's id, and of everything outside its style and script."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.rows: dict[str, list[list[str]]] = {}
        self.text = ""
        self._table, self._silent, self._cell = "", False, False
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self._silent = tag in ("style", "script")
        if tag == "table":
            self._table = given.get("id", "")
            self.rows[self._table] = []
        elif tag == "tr":
            self.rows[self._table].append([])
        elif tag in ("td", "th"):
            self.rows[self._table][-1].append("")
            self._cell = True

    def handle_endtag(self, tag):
        self._silent = False
        self._cell = self._cell and tag not in ("td", "th")

    def handle_data(self, data):
        if self._silent:
            return
        self.text += data
        if self._cell:
            self.rows[self._table][-1][-1] += data

    def row(self, table: str, *first: str) -> list[str]:
        """What follows the cells `first` in the row that begins with them."""
        (found,) = (row for row in self.rows[table] if tuple(row[: len(first)]) == first)
        return found[len(first) :]


def fetched(at) -> tuple[http.client.HTTPResponse, str]:
    connection = http.client.HTTPConnection(at.http.removeprefix("http://"), timeout=10)
    connection.request("GET", "/")
    reply = connection.getresponse()
    body = reply.read().decode()
    connection.close()
    return reply, body


def shown(registry, facts=FACTS, **changes) -> Tables:
    return Tables(render(facts, registry.collect(), **{"ready": True, "now": START, **changes}).decode())


def samples(**values: float) -> Samples:
    return Samples({name: {(("a", "b"),): value} for name, value in values.items()})


# --- numbers


def test_a_quantile_lies_where_prometheus_puts_it():
    registry = CollectorRegistry()
    seconds = Histogram("s", "S.", registry=registry, buckets=(1, 2, 4))
    for value in (0.5, 1.5, 1.6, 3):
        seconds.observe(value)
    found = Samples.of(registry.collect()).histogram("s")
    assert found.mean == pytest.approx(1.65)
    assert found.quantile(0.25) == Estimate(1.0)
    assert found.quantile(0.5) == Estimate(1.5)
    assert found.quantile(0.875) == Estimate(3.0)
    seconds.observe(9)
    assert Samples.of(registry.collect()).histogram("s").quantile(0.99) == Estimate(4.0, at_least=True)


def test_a_histogram_without_observations_has_no_quantile():
    assert Samples({}).histogram("s").quantile(0.5) is None
    assert Samples({}).histogram("s").mean is None


def test_a_counter_that_starts_again_grows_from_zero():
    grown = growth([samples(x=10.0), samples(x=15.0), samples(x=2.0, y=1.0), samples(x=3.0, y=1.0)])
    assert (grown.total("x"), grown.total("y")) == (8.0, 1.0)


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (units.seconds(0.00085), "850 µs"),
        (units.seconds(0.002451), "2.45 ms"),
        (units.seconds(0.0163), "16.3 ms"),
        (units.seconds(1.2), "1.20 s"),
        (units.seconds(0.0), "0 µs"),
        (units.seconds(None), "\u2013"),
        (units.estimate(Estimate(10.0, at_least=True)), "> 10.0 s"),
        (units.age(90061), "1 d 1 h"),
        (units.age(-5), "0 s"),
        (units.size(3 * 2**20), "3.0 MiB"),
        (units.share(1, 100_000), "< 0.1 %"),
        (units.share(99_999, 100_000), "> 99.9 %"),
        (units.share(0, 0), "\u2013"),
        (units.count(1234567), "1,234,567"),
        (units.count(2.25), "2.2"),
    ],
)
def test_numbers_are_written_for_people(made, text):
    assert made == text


# --- the last minute


def test_the_last_minute_forgets_what_is_older():
    clock, registry = ManualClock(), CollectorRegistry()
    calls = Counter("calls", "Calls.", registry=registry)
    recent = Recent(registry.collect, clock)

    def window():
        return recent.window(Samples.of(registry.collect()))

    calls.inc(5)
    clock.advance(3)
    recent.tick()
    assert (window().seconds, window().samples.total("calls_total")) == (3, 5)
    for _ in range(30):
        clock.advance(10)
        recent.tick()
        calls.inc()
    assert 60 <= window().seconds <= 70
    assert window().samples.total("calls_total") == 7


def test_a_window_says_how_long_it_is_where_no_snapshot_came_in_time():
    clock, registry = ManualClock(), CollectorRegistry()
    recent = Recent(registry.collect, clock)
    clock.advance(500)
    assert recent.window(Samples.of(registry.collect())).seconds == 500


def test_the_ring_of_snapshots_is_bounded():
    clock, reads = ManualClock(), []
    recent = Recent(lambda: reads.append(1) or [], clock)
    for _ in range(10_000):
        clock.advance(1)
        recent.tick()
    assert len(reads) == 1000
    assert len(recent._snapshots) <= 8


# --- the page


def test_a_name_is_never_markup():
    registry = CollectorRegistry()
    Counter("navi_degraded", "D.", ("pipeline", "stage", "reason"), registry=registry).labels("<i>", "<b>", '"&').inc()
    page = render(FACTS, registry.collect(), ready=True, now=START).decode()
    assert "<b>" not in page
    assert "<i>" not in page
    assert Tables(page).row("degradations", "<b>", '"&', "<i>") == ["1", "1"]


def test_models_and_caches_show_what_they_are_and_did():
    registry = CollectorRegistry()
    rows = Histogram("navi_batch_rows", "R.", ("model",), registry=registry, buckets=(1, 1000))
    rows.labels("ranker").observe(300)
    rows.labels("ranker").observe(500)
    calls = Counter("navi_model_calls", "C.", ("model", "outcome"), registry=registry)
    calls.labels("ranker", "run").inc(3)
    calls.labels("ranker", "deadline").inc()
    lookups = Counter("navi_cache_lookups", "L.", ("store", "outcome"), registry=registry)
    for outcome, count in (("hit", 6), ("negative", 1), ("miss", 3)):
        lookups.labels("users", outcome).inc(count)
    Counter("navi_cache_hit_age_seconds", "A.", ("store",), registry=registry).labels("users").inc(12)
    Gauge("navi_cache_bytes", "B.", ("store",), registry=registry).labels("users").set(2048)
    model = ModelFacts(
        name="ranker",
        version="3",
        digest="0123456789abcdef",
        provider="CPUExecutionProvider",
        row_independent=False,
        tasks=("click", "like"),
        load_s=0.5,
    )
    tables = shown(registry, ServerFacts(bundle="demo", digest="d", started=START - 90, models=(model,)))
    loaded = ["3", "0123456789ab", "CPUExecutionProvider", "click, like", "no: one request a batch", "500 ms"]
    assert tables.row("models", "ranker") == loaded
    assert tables.row("runs", "ranker")[:3] == ["4", "2", "400"]
    assert tables.row("runs", "ranker")[-1] == "run 3, deadline 1"
    asked = ["10", "60.0 %", "10.0 %"]
    assert tables.row("caches", "users") == [*asked, *asked, "2.00 s", "2.0 KiB", "\u2013", "0"]


def test_several_workers_show_by_slot():
    registry = CollectorRegistry()
    Gauge("navi_workers", "W.", registry=registry).set(1)
    restarts = Counter("navi_worker_restarts", "R.", ("slot",), registry=registry)
    restarts.labels("0")
    restarts.labels("1").inc(2)
    Gauge("navi_worker_resident_bytes", "B.", ("slot",), registry=registry).labels("1").set(3 * 2**20)
    Gauge("navi_worker_proportional_bytes", "B.", ("slot",), registry=registry).labels("1").set(2**20)
    Counter("navi_worker_cpu_seconds", "S.", ("slot",), registry=registry).labels("1").inc(9)
    Counter("navi_worker_requests", "R.", ("slot",), registry=registry).labels("1").inc(7)
    tables = shown(registry)
    assert "workers ready1 of 2" in tables.text
    assert tables.row("workers", "1") == ["7", "0.10", "1.0 MiB", "3.0 MiB", "2"]
    assert tables.row("workers", "0") == ["0", "\u2013", "\u2013", "\u2013", "0"]


def test_metrics_of_several_processes_read_like_those_of_one():
    registry = CollectorRegistry()
    Counter("navi_requests", "R.", ("outcome",), registry=registry).labels("ok").inc(4)
    read = text_string_to_metric_families(generate_latest(registry).decode())
    assert Samples.of(read) == Samples.of(registry.collect())


def test_a_server_that_is_not_ready_says_so_first():
    tables = shown(CollectorRegistry(), ready=False)
    assert tables.text.index("Not ready") < tables.text.index("version")
    assert "✓ Ready" not in tables.text


# --- a real server


def some_calls(at) -> None:
    for _ in range(5):
        at.client.rank()
    for _ in range(3):
        at.client.score([1, 2])


def test_the_page_shows_the_calls_that_were_made(navi):
    with navi.serve() as at:
        some_calls(at)
        navi.eventually(lambda: at.value("navi_in_flight") == 0)
        reply, body = fetched(at)
    assert reply.headers["Content-Security-Policy"] == policy()
    tables = Tables(body)
    assert tables.row("outcomes", "degraded")[1:] == ["5", "62.5 %", "5", "62.5 %"]
    assert tables.row("outcomes", "ok")[1:] == ["3", "37.5 %", "3", "37.5 %"]
    assert tables.row("requests", "Rank", "home")[0] == "5"
    assert tables.row("stages", "merge", "home")[0] == "8"
    assert tables.row("flows", "merge", "home") == ["7", "5", "56", "40", "71.4 %", "seen 16"]
    assert tables.row("degradations", "rerank", "late", "home") == ["5", "5"]
    assert "Degraded 5 of 8 answers" in tables.text


def test_full_answers_are_told_from_no_answers(navi):
    with navi.serve(navi.pipeline(lambda query: navi.ranking(query, degradations=()))) as at:
        assert "Quiet no answers" in Tables(fetched(at)[1]).text
        at.client.rank()
        navi.eventually(lambda: at.value("navi_in_flight") == 0)
        assert "Full answers every answer" in Tables(fetched(at)[1]).text


# --- a real browser

FAINT = """(() => {
  const channels = text => text.match(/[0-9.]+/g).map(Number);
  const linear = c => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const behind = node => {
    for (; node; node = node.parentElement) {
      const found = channels(getComputedStyle(node).backgroundColor);
      if (found.length === 3 || found[3] === 1) return found;
    }
    return [255, 255, 255];
  };
  const faint = [];
  for (const node of document.body.querySelectorAll("*")) {
    const own = [...node.childNodes].some(child => child.nodeType === 3 && child.textContent.trim());
    if (!own || !node.checkVisibility()) continue;
    const [a, b] = [light(channels(getComputedStyle(node).color)), light(behind(node))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) faint.push(`${node.tagName} ${node.textContent.trim().slice(0, 20)} ${ratio.toFixed(2)}`);
  }
  return faint;
})()"""
"""Texts whose contrast is below AA: WCAG 2.1, 1.4.3."""


@pytest.fixture(scope="module")
def tab(tmp_path_factory):
    if PROGRAM is None:
        pytest.skip(MISSING)
    with browser(tmp_path_factory.mktemp("chromium")) as opened:
        yield opened


def background(tab) -> str:
    return tab.evaluate("getComputedStyle(document.body).backgroundColor")


def test_a_browser_shows_the_page_in_both_themes_on_a_phone_and_on_a_desk(navi, tab):
    long = Degradation(stage="a_stage_with_a_long_name_" * 3, reason="late", detail="", rows=1)
    pipeline = navi.pipeline(lambda query: navi.ranking(query, degradations=(long,)))
    backgrounds = set()
    tab.requested.clear()
    with navi.serve(pipeline) as at:
        some_calls(at)
        for scheme in ("light", "dark"):
            for width in (400, 1400):
                tab.open(f"{at.http}/", width=width, scheme=scheme)
                assert tab.evaluate("document.documentElement.scrollWidth") <= width
                assert tab.evaluate(FAINT) == []
            backgrounds.add(background(tab))
        shown_calls = tab.evaluate("[...document.querySelectorAll('#requests tbody tr')].map(row => row.innerText)")
        hosts = {urlparse(url).netloc for url in tab.requested if not url.startswith("data:")}
        here = {at.http.removeprefix("http://")}
    assert any(text.split()[:3] == ["Rank", "home", "5"] for text in shown_calls)
    assert len(backgrounds) == 2
    assert hosts == here
    assert tab.complaints == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_bad_news_can_be_read_in_both_themes(tab, tmp_path, scheme):
    registry = CollectorRegistry()
    Counter("navi_unexpected_errors", "E.", ("method",), registry=registry).labels("Rank").inc()
    page = tmp_path / "page.html"
    page.write_bytes(render(FACTS, registry.collect(), ready=False, now=START))
    tab.open(page.as_uri(), scheme=scheme)
    assert "1 unexpected error since" in tab.evaluate("document.body.innerText")
    assert tab.evaluate(FAINT) == []


def test_a_screen_reader_finds_its_way(navi, tab):
    with navi.serve() as at:
        some_calls(at)
        tab.open(f"{at.http}/")
    assert tab.evaluate("document.documentElement.lang") == "en"
    assert tab.evaluate("document.querySelectorAll('h1').length") == 1
    assert tab.evaluate("[...document.querySelectorAll('table')].filter(one => !one.caption).length") == 0
    assert tab.evaluate("document.querySelectorAll('th:not([scope])').length") == 0
    assert tab.evaluate("document.querySelectorAll('tbody tr:not(:has(th[scope=row]))').length") == 0
    assert tab.evaluate("document.querySelectorAll('section:not([aria-labelledby])').length") == 0
    ids = tab.evaluate("[...document.querySelectorAll('[id]')].map(one => one.id)")
    assert len(ids) == len(set(ids))


def test_the_theme_can_be_chosen_and_is_remembered(navi, tab):
    with navi.serve() as at:
        tab.open(f"{at.http}/", scheme="light")
        light = background(tab)
        assert tab.evaluate("document.getElementById('theme').innerText") == "Dark theme"
        tab.evaluate("document.getElementById('theme').click()")
        dark = background(tab)
        tab.open(f"{at.http}/", scheme="light")
        assert light != dark == background(tab)
        assert tab.evaluate("document.getElementById('refresh').checked") is False


def test_the_page_is_whole_without_scripts(navi, tab):
    with navi.serve() as at:
        some_calls(at)
        tab.call("Emulation.setScriptExecutionDisabled", value=True)
        tab.open(f"{at.http}/", scheme="dark")
        tab.call("Emulation.setScriptExecutionDisabled", value=False)
        assert not tab.evaluate("document.getElementById('controls').checkVisibility()")
        assert tab.evaluate("document.querySelectorAll('#requests tbody tr').length") == 2


def test_the_browser_keeps_what_is_not_ours_out(navi, tab):
    with navi.serve() as at:
        tab.open(f"{at.http}/")
        tab.complaints.clear()
        tab.evaluate("document.body.append(Object.assign(document.createElement('img'), {src: '/metrics'}))")
        navi.eventually(lambda: tab.evaluate("0") == 0 and bool(tab.complaints))
    assert any("Content Security Policy" in text for text in tab.complaints)
    tab.complaints.clear()
