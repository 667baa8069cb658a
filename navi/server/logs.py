"""The log on standard error: lines of text, or of JSON for machines."""

import json
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from logging.handlers import QueueHandler, QueueListener
from queue import Queue
from typing import Literal, TextIO, TypeAlias

LogFormat: TypeAlias = Literal["text", "json"]

ROOMS = ("navi", "candidates", "ranking")
_WAITING = 10_000


@contextmanager
def logging_to_stderr(kind: LogFormat, stream: TextIO | None = None) -> Iterator[None]:
    """Write what is logged for as long as the block lasts: our rooms from `info` on, all others from `warning` on.

    A thread writes, so that a reader which does not keep up holds up no call; 10,000 lines can wait, further ones are
    lost.
    """
    lines: Queue[logging.LogRecord] = Queue(_WAITING)
    handler = _Handler(lines)
    handler.setFormatter(JsonFormatter() if kind == "json" else TextFormatter())
    listener = QueueListener(lines, logging.StreamHandler(stream or sys.stderr))
    root, levels = logging.getLogger(), {room: logging.getLogger(room).level for room in ROOMS}
    root.addHandler(handler)
    for room in ROOMS:
        logging.getLogger(room).setLevel(logging.INFO)
    listener.start()
    try:
        yield
    finally:
        root.removeHandler(handler)
        for room, level in levels.items():
            logging.getLogger(room).setLevel(level)
        listener.stop()


class JsonFormatter(logging.Formatter):
    """One JSON object a line: time, level, logger, message, what is known of the call, and the exception's text."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_call(record),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


class TextFormatter(logging.Formatter):
    """Time, level, logger, message on one line, what is known of the call behind it; the exception's lines follow."""

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        facts = "".join(f" {name}={_word(value)}" for name, value in _call(record).items())
        message = record.getMessage().replace("\n", "\\n")  # or a caller could forge lines
        line = f"{at} {record.levelname.lower()} {record.name}: {message}{facts}"
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


class _Handler(QueueHandler):
    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        """Too many lines wait: this one is lost."""


def _call(record: logging.LogRecord) -> dict[str, object]:
    """What `call_log.facts_of` said."""
    return dict(getattr(record, "call", {}))


def _word(value: object) -> str:
    text = str(value)
    return text if text.isprintable() and " " not in text else json.dumps(text)
