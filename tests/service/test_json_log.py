"""`navi serve --log-format json`: every line on standard error is an object that a machine can read."""

import json
from pathlib import Path

import pytest

from navi.core.errors import NotFound


def test_every_line_is_json_and_a_failed_call_is_found_by_its_id(trained: Path, serve) -> None:
    server = serve(trained, "--log-format", "json")
    with server.client() as client:
        with pytest.raises(NotFound):
            client.rank(pipeline="nowhere", request_id="lost")
        client.rank(k=3)
    assert server.stop() == 0
    lines = [json.loads(line) for line in server.process.stderr.read().decode().splitlines()]
    assert [line["message"].split(":")[0] for line in lines] == [
        "ready",
        "Rank ended as NOT_FOUND",
        "drained and stopped",
    ]
    assert lines[1]["request_id"] == "lost"
    assert all(line["level"] == "info" for line in lines)
