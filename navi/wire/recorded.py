"""Recorded calls: what a server wrote down of them, so that they can be asked again."""

import json
import math
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from navi.core.errors import InvalidArgument

FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedCall:
    """One call, a line of a JSON Lines file; the request's bytes stand there in base64.

    at: seconds since the epoch when it arrived. method: the full path, `/package.Service/Method`. deadline_s: how long
    the caller would have waited. seconds, outcome: how long it took here, and how it ended.
    """

    at: float
    method: str
    request: bytes
    deadline_s: float
    seconds: float
    outcome: str
    request_id: str = ""

    def line(self) -> str:
        """The call as one line, without its end."""
        request = b64encode(self.request).decode()
        return json.dumps({"format": FORMAT, **asdict(self), "request": request}, separators=(",", ":"))


def read_recorded(path: Path) -> Iterator[RecordedCall]:
    """The calls of a file, in its order. InvalidArgument names the line and field that is wrong or not known."""
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                yield _parse(line, f"{path}:{number}")


def _parse(line: bytes, where: str) -> RecordedCall:
    try:
        raw = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidArgument(where, f"is not JSON: {error}") from error
    if not isinstance(raw, dict):
        raise InvalidArgument(where, "is not an object")
    if type(written := raw.pop("format", None)) is not int or written != FORMAT:
        raise InvalidArgument(f"{where}: format", f"is not {FORMAT}: written by another version of Navi")
    unknown = sorted(raw.keys() - _FIELDS.keys())
    if unknown:
        raise InvalidArgument(f"{where}: {unknown[0]}", "is not a field of a recorded call")
    return RecordedCall(**{name: _field(raw, name, where) for name in _FIELDS})


def _field(raw: Mapping[str, Any], name: str, where: str) -> Any:
    if name not in raw:
        if name == "request_id":
            return ""
        raise InvalidArgument(f"{where}: {name}", "is missing")
    try:
        return _FIELDS[name](raw[name])
    except ValueError as error:
        raise InvalidArgument(f"{where}: {name}", str(error)) from error


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("is not a number")
    if not math.isfinite(value) or value < 0:
        raise ValueError(f"is {value}, where a finite number from 0 on is expected")
    return float(value)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("is not text")
    return value


def _method(value: object) -> str:
    parts = _text(value).split("/")
    if len(parts) != 3 or parts[0] or not all(parts[1:]):
        raise ValueError(f"is {value!r}, where /package.Service/Method is expected")
    return "/".join(parts)


def _base64(value: object) -> bytes:
    try:
        return b64decode(_text(value), validate=True)
    except ValueError as error:
        raise ValueError(f"is not base64: {error}") from error


_FIELDS: Mapping[str, Callable[[object], Any]] = {
    "at": _number,
    "method": _method,
    "request": _base64,
    "deadline_s": _number,
    "seconds": _number,
    "outcome": _text,
    "request_id": _text,
}
