"""The harness measured by itself, and its commands."""

import json


def test_the_check_tells_schedule_error_overhead_and_the_stall(lt, tmp_path):
    out = tmp_path / "check.json"
    done = lt.command("check", "--rate", 40, "--duration", 2, "--out", out)
    assert done.returncode == 0, done.stdout
    for row in ("error of the schedule", "overhead", "from due time", "callers that wait"):
        assert row in done.stdout
    found = json.loads(out.read_text())
    assert found["steady"]["outcomes"]["ok"] == found["stalled"]["outcomes"]["ok"] == 80
    assert found["stalled"]["latency"]["p90"] >= 0.4
    assert found["stalled"]["latency"]["max"] >= 0.9


def test_a_run_writes_its_report_and_two_are_compared(stub, lt, tmp_path):
    out, report = tmp_path / "a.json", tmp_path / "a.html"
    done = lt.command("run", stub, "--rate", 40, "--duration", 1, "--out", out, "--report", report)
    assert done.returncode == 0, done.stdout
    assert report.read_text().lstrip().lower().startswith("<!doctype html>")
    assert lt.command("report", out, tmp_path / "again.html").returncode == 0
    compared = lt.command("compare", out, out)
    assert compared.returncode == 0
    assert "p99" in compared.stdout
