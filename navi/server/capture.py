"""Calls that were slow, late or failed, kept in a file from which they can be asked again."""

import errno
import os
from pathlib import Path

from navi.core.errors import ConfigError
from navi.server.background import Background
from navi.server.call import Call, Ending
from navi.server.metrics import Metrics
from navi.server.settings import ServerSettings
from navi.wire.recorded import RecordedCall

KIND = "slow"
_WAITING = 64
"""Calls that wait to be written, with their bytes."""


class SlowCapture:
    """A watcher: appends calls that took `slow_ms` or longer, missed their deadline, or failed by our fault.

    At most `slow_per_s` a second on average; what is over that, or cannot be written, is counted.
    """

    def __init__(self, file: "CappedFile", settings: ServerSettings, metrics: Metrics) -> None:
        self._file = file
        self._slow_s = settings.slow_ms / 1000
        self._rate = Rate(settings.slow_per_s)
        self._metrics = metrics
        self._writer: Background[RecordedCall] = Background(
            "slow-call recorder", self._write, limit=_WAITING, failed=lambda _: metrics.unrecorded(KIND)
        ).start()

    @classmethod
    def open(cls, path: Path, settings: ServerSettings, metrics: Metrics) -> "SlowCapture":
        """ConfigError where the file cannot be written."""
        try:
            return cls(CappedFile(path, settings.slow_file_bytes), settings, metrics)
        except OSError as error:
            raise ConfigError("slow_file", f"cannot write {path}: {error.strerror}") from error

    def ended(self, call: Call, ending: Ending) -> None:
        slow = self._slow_s and ending.seconds >= self._slow_s
        if not slow and ending.outcome not in ("deadline", "error"):
            return
        now = call.arrival.monotonic + ending.seconds
        if not (self._rate.take(now) and self._writer.put(recorded(call, ending))):
            self._metrics.unrecorded(KIND)

    def close(self) -> None:
        self._writer.close()
        self._file.close()

    def _write(self, call: RecordedCall) -> None:
        self._file.append(call.line())
        self._metrics.recorded(KIND)


class Rate:
    """At most `per_s` a second on average, and so many at once after a quiet time. Lives on one event loop."""

    def __init__(self, per_s: float) -> None:
        self._per_s = per_s
        self._room = max(per_s, 1.0)
        self._left = self._room
        self._last = 0.0

    def take(self, now: float) -> bool:
        """Whether one more may be, at this monotonic time."""
        self._left = min(self._room, self._left + max(now - self._last, 0.0) * self._per_s)
        self._last = max(now, self._last)
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True


class CappedFile:
    """Lines appended to a file; one that is full becomes `NAME.1`, in the place of the one before. One thread's."""

    def __init__(self, path: Path, max_bytes: int) -> None:
        """OSError where it cannot be opened."""
        self._path = path
        self._max_bytes = max_bytes
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("ab", buffering=0)

    def append(self, line: str) -> None:
        """OSError where it cannot be written as a whole; nothing of it is left in the file then."""
        data = line.encode() + b"\n"
        if self._file.tell() and self._file.tell() + len(data) > self._max_bytes:
            self._begin_anew()
        size = self._file.tell()
        try:
            written = self._file.write(data)
        except OSError:
            self._file.truncate(size)
            raise
        if written != len(data):
            self._file.truncate(size)
            raise OSError(errno.ENOSPC, f"only {written} of {len(data)} bytes could be written", str(self._path))

    def _begin_anew(self) -> None:
        os.replace(self._path, f"{self._path}.1")
        full, self._file = self._file, self._path.open("ab", buffering=0)
        full.close()

    def close(self) -> None:
        self._file.close()


def recorded(call: Call, ending: Ending) -> RecordedCall:
    return RecordedCall(
        at=call.arrival.time,
        method=call.path,
        request=call.request,
        deadline_s=max(call.deadline.at - call.arrival.monotonic, 0.0),
        seconds=ending.seconds,
        outcome=ending.outcome,
        request_id=call.request_id,
    )
