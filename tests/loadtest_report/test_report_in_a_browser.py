"""A real browser shows the report, narrow and wide."""

import re
import shutil
import subprocess
from pathlib import Path

import loadtest_results as samples
import pytest

from loadtest.report.html import write_report

CHROMIUM = shutil.which("chromium")


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on PATH: the report is not looked at by a browser")
@pytest.mark.parametrize("width", [400, 1400])
def test_a_browser_shows_it_without_complaint_or_sideways_scrolling(width: int, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    write_report(samples.result_of(samples.overloaded(samples.calm(rate=100, seconds=30))), path)
    text = path.read_text(encoding="utf-8")
    policy = re.search(r'<meta http-equiv="Content-Security-Policy"[^>]*>', text)
    assert policy is not None
    probe = "<script>document.title = `${document.documentElement.scrollWidth} of ${innerWidth}`</script>"
    framed = tmp_path / "probe.html"
    framed.write_text(text.replace(policy[0], "").replace("</body>", f"{probe}</body>"), encoding="utf-8")
    assert not complaints(browser(path, width, tmp_path).stderr)
    found = re.search(r"<title>(\d+) of (\d+)</title>", browser(framed, width, tmp_path).stdout)
    assert found is not None
    assert int(found[1]) <= int(found[2])


def browser(path: Path, width: int, directory: Path) -> subprocess.CompletedProcess[str]:
    assert CHROMIUM is not None
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--hide-scrollbars"]
    size = [f"--window-size={width},3000", f"--user-data-dir={directory / 'profile'}", "--dump-dom"]
    return subprocess.run(
        [CHROMIUM, *options, *size, path.as_uri()], capture_output=True, text=True, timeout=60, check=True
    )


def complaints(log: str) -> list[str]:
    """What the page wrote to the console, or broke."""
    return [line for line in log.splitlines() if "CONSOLE" in line]
