"""The log: a line for each call that failed or was slow, by which it can be found."""

import io
import json
import logging
from threading import Event

import pytest

from navi.core import errors
from navi.server.logs import logging_to_stderr

TRACE = "0af7651916cd43dd8448eb211c80319c"


def lines(navi, pipeline, ask, kind="json", **settings):
    """What is logged while `ask` calls a server."""
    stream = io.StringIO()
    with logging_to_stderr(kind, stream), navi.serve(pipeline, **settings) as at:
        ask(at)
        navi.eventually(at.idle)
    return stream.getvalue().splitlines()


def failing(kind, **options):
    def ask(at):
        with pytest.raises(kind):
            at.client.rank(**options)

    return ask


def test_a_fault_is_an_error_with_its_trace_and_the_callers_id(navi):
    logged = lines(
        navi, navi.raising(errors.StageError("rerank", "broke")), failing(errors.FaultError, request_id="r7")
    )
    [line] = map(json.loads, logged)
    assert line["level"] == "error"
    assert line["request_id"] == "r7"
    assert line["method"] == "Rank"
    assert line["pipeline"] == "home"
    assert "broke" in line["message"]
    assert "StageError" in line["exception"]
    assert line["time"].endswith("+00:00")
    assert line["logger"].startswith("navi.server")


def test_an_unforeseen_error_is_one_line_too(navi):
    [line] = map(json.loads, lines(navi, navi.raising(RuntimeError("x")), failing(errors.FaultError)))
    assert line["level"] == "critical"
    assert len(line["request_id"]) == 12
    assert "RuntimeError: x" in line["exception"]


def test_a_callers_error_is_for_information(navi):
    [line] = map(json.loads, lines(navi, None, failing(errors.NotFound, pipeline="nowhere")))
    assert line["level"] == "info"
    assert line["outcome"] == "invalid"
    assert line["pipeline"] == "unknown"
    assert "nowhere" in line["message"]
    assert line["seconds"] >= 0


def test_a_slow_call_is_told_with_its_trace_and_a_quick_one_is_not(navi):
    def ask(at):
        metadata = (("navi-caller", "feed"), ("traceparent", f"00-{TRACE}-b7ad6b7169203331-01"))
        at.channel.unary_unary("/navi.v1.RankingService/Rank")(b"\x20\x01", metadata=metadata, timeout=20)

    [line] = map(json.loads, lines(navi, None, ask, slow_ms=0.001))
    assert line["level"] == "warning"
    assert (line["caller"], line["trace_id"], line["outcome"]) == ("feed", TRACE, "degraded")
    assert lines(navi, None, ask, slow_ms=60_000) == []
    assert lines(navi, None, ask) == []


def test_calls_shed_at_the_door_write_no_lines(navi):
    opened, asked = Event(), Event()

    def slow(query):
        asked.set()
        opened.wait(20)
        return navi.ranking(query)

    def ask(at):
        call = at.start_rank(b"\x20\x01", timeout=20)
        assert asked.wait(20)
        with pytest.raises(errors.Overloaded):
            at.client.rank()
        opened.set()
        call.result(timeout=20)

    assert lines(navi, navi.pipeline(slow), ask, max_in_flight=1) == []


def test_text_has_one_line_a_record_that_no_caller_can_forge(navi):
    logged = lines(navi, None, failing(errors.NotFound, pipeline="x\nERROR all is lost", request_id="a b"), kind="text")
    assert len(logged) == 1
    assert 'request_id="a b"' in logged[0]
    assert " info navi.server.call_log: Rank ended as NOT_FOUND" in logged[0]


def test_other_packages_are_heard_from_warnings_on():
    stream = io.StringIO()
    with logging_to_stderr("text", stream):
        logging.getLogger("somebody").info("chatter")
        logging.getLogger("somebody").warning("trouble")
        logging.getLogger("ranking.x").info("ours")
    logging.getLogger("somebody").warning("after it ended")
    assert [line.split(" ", 1)[1] for line in stream.getvalue().splitlines()] == [
        "warning somebody: trouble",
        "info ranking.x: ours",
    ]
