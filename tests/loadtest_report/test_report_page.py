"""The report is one file that shows any result, and shows it as text."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import loadtest_results as samples
import pytest

from loadtest.report.html import write_report
from loadtest.report.palette import PALETTE
from loadtest.result import Result

CHARTS = {
    "latency": "Latency over time",
    "rates": "Offered and served rate",
    "outcomes": "Outcomes over time",
    "cdf": "Latency distribution",
    "stages": "Stages of the server",
    "connections": "Split over connections",
    "generators": "Generators",
}
HOSTILE = "</title></script><script>alert(1)</script><img src=x onerror='alert(\"2\")'>&amp;$x_1$\x07\n漢字"


class Page(HTMLParser):
    """What a browser finds: elements with their attributes, and the text under each `h2`, `title` and `desc`."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def having(self, name: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.tags if tag == name]


def report(result: Result, directory: Path) -> str:
    path = directory / "report.html"
    write_report(result, path)
    return path.read_text(encoding="utf-8")


BARE: dict[str, object] = {"stages": [], "connections": {}, "generators": [], "server_seconds": None}
ODD: dict[str, Callable[[], Result]] = {
    "no call": lambda: samples.result_of(samples.nothing(), complete=False, **BARE),
    "no answer": lambda: samples.result_of(samples.refused(samples.calm(rate=100, seconds=5)), stages=[]),
    "one window": lambda: samples.result_of(samples.calm(seconds=0.5)),
    "one call": lambda: samples.result_of(samples.calm(rate=1, seconds=1, seed=4)),
    "thousands of windows": lambda: samples.result_of(samples.calm(rate=5, seconds=3000)),
    "hundreds of connections": lambda: samples.result_of(
        samples.calm(rate=100, seconds=2), connections={f"0/{at}": at for at in range(300)}
    ),
}


@pytest.fixture(scope="module")
def stalled(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The report of a run with a stall of one second, like most runs in what it holds."""
    return report(samples.result_of(samples.stalled(samples.calm())), tmp_path_factory.mktemp("report"))


def test_the_report_needs_nothing_from_elsewhere(stalled: str) -> None:
    page = Page(stalled)
    links = [value for _, attributes in page.tags for key, value in attributes.items() if key in ("src", "href")]
    assert all(value is not None and value.startswith("#") for value in links)
    assert not re.search(r"url\((?!#)|@import", stalled)
    assert "default-src 'none'" in (page.having("meta")[1]["content"] or "")
    assert len(stalled.encode()) < 500_000


def test_the_same_result_gives_the_same_file(tmp_path: Path) -> None:
    result = samples.result_of(samples.calm(seconds=5))
    assert report(result, tmp_path) == report(result, tmp_path)


def test_every_chart_has_a_title_a_description_and_its_numbers(stalled: str) -> None:
    figures = dict(re.findall(r'<figure id="(\w+)".*?>(.*?)</figure>', stalled, re.DOTALL))
    assert set(figures) == set(CHARTS)
    for name, title in CHARTS.items():
        drawings = re.findall(r"<svg.*?</svg>", figures[name], re.DOTALL)
        assert len(drawings) >= 2
        assert all(f">{title}</title>" in drawing and 'role="img"' in drawing for drawing in drawings)
        assert all(re.search(r"<desc[^>]*>[^<]+</desc>", drawing) for drawing in drawings)
        assert "<details>" in figures[name]
        assert "<td>" in figures[name]


def test_every_id_is_given_once_and_every_reference_finds_it(stalled: str) -> None:
    page = Page(stalled)
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'(?:href="|url\()#([\w-]+)', stalled)) <= set(ids)


def test_one_drawing_serves_both_themes(stalled: str) -> None:
    drawings = "".join(re.findall(r"<svg.*?</svg>", stalled, re.DOTALL))
    assert "var(--first)" in drawings
    assert not re.search(r"#[0-9a-f]{6}\b", drawings)
    assert "prefers-color-scheme:dark" in stalled
    assert ":root[data-theme=dark]" in stalled
    assert ":root:not([data-theme=light])" in stalled


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_and_drawings_stand_out_from_what_is_behind_them(theme: str) -> None:
    colours = {role: getattr(colour, theme) for role, colour in PALETTE.items()}
    for role in ("ink", "muted", "link", "good", "warn", "bad"):
        assert contrast(colours[role], colours["surface"]) >= 4.5
        assert contrast(colours[role], colours["page"]) >= 4.5
    for role in ("first", "second", "third", "ok", "degraded", "shed", "deadline", "error"):
        assert contrast(colours[role], colours["surface"]) >= 3


def contrast(one: str, other: str) -> float:
    """WCAG 2.1, relative luminance and contrast ratio."""
    lights = []
    for colour in (one, other):
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        lights.append(0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2])
    return (max(lights) + 0.05) / (min(lights) + 0.05)


def test_hostile_text_is_only_text(tmp_path: Path) -> None:
    result = samples.result_of(
        samples.calm(rate=100, seconds=12),
        target=HOSTILE,
        protocol=HOSTILE,
        plan={HOSTILE: {HOSTILE: HOSTILE}},
        environment={HOSTILE: HOSTILE},
        stages=[stage.model_copy(update={"name": HOSTILE}) for stage in samples.stages(10)],
        connections={HOSTILE: 3},
        errors={HOSTILE: 2},
        warnings=[HOSTILE],
    )
    page = Page(report(result, tmp_path))
    assert len(page.having("script")) == 1
    assert not page.having("img")
    assert not [key for _, attributes in page.tags for key in attributes if key.startswith("on")]


@pytest.mark.parametrize("name", list(ODD))
def test_any_result_is_shown(name: str, tmp_path: Path) -> None:
    text = report(ODD[name](), tmp_path)
    assert set(re.findall(r'<figure id="(\w+)"', text)) == set(CHARTS)
    assert "nan" not in " ".join(Page(text).text).lower().split()
    assert len(text.encode()) < 500_000


def test_a_report_that_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    (path / "full").mkdir(parents=True)
    with pytest.raises(OSError, match="directory"):
        write_report(samples.result_of(samples.nothing()), path)
    assert list(tmp_path.iterdir()) == [path]


def test_without_matplotlib_the_extra_is_named_and_the_last_report_stays(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("the last one", encoding="utf-8")
    script = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import loadtest_results as s; from pathlib import Path; from loadtest.report.html import write_report\n"
        "write_report(s.result_of(s.nothing()), Path(sys.argv[1]))"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(samples.__file__).parent)}
    done = subprocess.run(
        [sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=False, env=environment
    )
    assert "ConfigError: matplotlib: is not installed" in done.stderr
    assert "pip install 'navi-ranking[loadtest]'" in done.stderr
    assert path.read_text(encoding="utf-8") == "the last one"
    assert list(tmp_path.iterdir()) == [path]
