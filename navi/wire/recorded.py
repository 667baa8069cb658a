"""Recorded calls: what a server wrote down of them, so that they can be asked again."""

import json
from base64 import b64decode, b64encode
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path

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
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                yield _parse(line, f"{path}:{number}")


def _parse(line: str, where: str) -> RecordedCall:
    try:
        raw = json.loads(line)
    except ValueError as error:
        raise InvalidArgument(where, f"is not JSON: {error}") from error
    if not isinstance(raw, dict):
        raise InvalidArgument(where, "is not an object")
    if raw.pop("format", None) != FORMAT:
        raise InvalidArgument(f"{where}: format", f"is not {FORMAT}: written by another version of Navi")
    kinds = {field.name: field.type for field in fields(RecordedCall)}
    unknown = sorted(raw.keys() - kinds.keys())
    if unknown:
        raise InvalidArgument(f"{where}: {unknown[0]}", "is not a field of a recorded call")
    try:
        return RecordedCall(**{**raw, "request": b64decode(raw["request"], validate=True)})
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidArgument(where, f"is no recorded call: {error}") from error
