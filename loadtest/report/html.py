"""The report: one HTML file that needs nothing but a browser."""

import base64
import hashlib
from importlib import resources
from pathlib import Path
from xml.etree.ElementTree import Element

from loadtest.report import summary
from loadtest.report.elements import document, tag
from loadtest.report.palette import stylesheet
from loadtest.result import Result
from navi.core.errors import ConfigError
from navi.core.files import replacing

EXTRA = "the report's drawings need it: pip install 'navi-ranking[loadtest]'"


def write_report(result: Result, path: Path) -> None:
    """Writes the report, whole or not at all.

    ConfigError where matplotlib is not installed; OSError where `path` cannot be written.
    """
    content = document(_page(result))
    with replacing(path) as temporary:
        temporary.write_bytes(content)


def _page(result: Result) -> Element:
    try:
        from loadtest.report import charts  # matplotlib: half a second, and an extra
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "matplotlib":
            raise
        raise ConfigError("matplotlib", f"is not installed; {EXTRA}") from error
    main = tag("main", summary.header(result), summary.verdict(result), *summary.warnings(result))
    main.extend([*summary.errors(result), summary.percentiles(result), *charts.figures(result)])
    main.append(summary.footer(result))
    return tag("html", _head(result), tag("body", main, tag("script", _own("page.js"))), lang="en")


def _head(result: Result) -> Element:
    digest = base64.b64encode(hashlib.sha256(_own("page.js").encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; base-uri 'none'"
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", f"Load test of {result.target}"),
        tag("style", stylesheet() + _own("page.css")),
    )


def _own(name: str) -> str:
    return resources.files("loadtest.report").joinpath(name).read_text(encoding="utf-8")
