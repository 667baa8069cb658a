"""Recorded calls are read back as they were written, and a damaged file is told by line and field."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from navi.core.errors import InvalidArgument
from navi.wire.recorded import RecordedCall, read_recorded

CALL = RecordedCall(
    at=1.5, method="/navi.v1.RankingService/Rank", request=b"\x00\xff", deadline_s=0.2, seconds=0.3, outcome="deadline"
)
NUMBERS = st.floats(min_value=0, allow_nan=False, allow_infinity=False)


@given(
    call=st.builds(
        RecordedCall,
        at=NUMBERS,
        method=st.just(CALL.method),
        request=st.binary(max_size=50),
        deadline_s=NUMBERS,
        seconds=NUMBERS,
        outcome=st.text(max_size=9),
        request_id=st.text(max_size=9),
    )
)
def test_a_call_survives_the_file(tmp_path_factory, call):
    path = tmp_path_factory.mktemp("recorded") / "calls.jsonl"
    path.write_text(f"{call.line()}\n\n{call.line()}\n", encoding="utf-8")
    assert list(read_recorded(path)) == [call, call]


@pytest.mark.parametrize(
    ("changes", "field", "problem"),
    [
        ({"color": "red"}, "color", "is not a field of a recorded call"),
        ({"format": 2}, "format", "another version"),
        ({"format": None}, "format", "another version"),
        ({"at": "soon"}, "at", "is not a number"),
        ({"seconds": True}, "seconds", "is not a number"),
        ({"deadline_s": float("inf")}, "deadline_s", "finite"),
        ({"seconds": -1}, "seconds", "from 0 on"),
        ({"method": "Rank"}, "method", "/package.Service/Method"),
        ({"method": 7}, "method", "is not text"),
        ({"request": "AA"}, "request", "is not base64"),
        ({"request": "A*==AAAA"}, "request", "is not base64"),
        ({"request": [0]}, "request", "is not text"),
        ({"outcome": None}, "outcome", "is not text"),
        ({"request_id": 1}, "request_id", "is not text"),
    ],
)
def test_what_is_wrong_is_named_by_line_and_field(tmp_path, changes, field, problem):
    path = tmp_path / "calls.jsonl"
    path.write_text(f"{CALL.line()}\n{json.dumps({**json.loads(CALL.line()), **changes})}\n")
    calls = read_recorded(path)
    assert next(calls) == CALL, "what comes before is read"
    with pytest.raises(InvalidArgument) as told:
        next(calls)
    assert told.value.field == f"{path}:2: {field}"
    assert problem in told.value.problem


@pytest.mark.parametrize("name", ["at", "method", "request", "deadline_s", "seconds", "outcome"])
def test_a_missing_field_is_named(tmp_path, name):
    path = tmp_path / "calls.jsonl"
    path.write_text(json.dumps({key: value for key, value in json.loads(CALL.line()).items() if key != name}))
    with pytest.raises(InvalidArgument, match=f":1: {name}: is missing"):
        list(read_recorded(path))


@pytest.mark.parametrize("line", [b"{", b"[1]", b"7", b"\xff\xfe", b'{"format": 1, "at"', b"[" * 100_000])
def test_what_is_no_record_is_told_by_its_line(tmp_path, line):
    path = tmp_path / "calls.jsonl"
    path.write_bytes(line)
    with pytest.raises(InvalidArgument, match=r"calls\.jsonl:1"):
        list(read_recorded(path))
