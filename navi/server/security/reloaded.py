"""What an operator's files hold, read again when they change."""

import logging
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock
from typing import Generic, TypeAlias, TypeVar

from navi.core.clock import Clock
from navi.core.errors import ConfigError

_LOG = logging.getLogger(__name__)

T = TypeVar("T")
Heard: TypeAlias = Callable[[bool], None]
"""Is told of every reading after the first: whether it went well."""


def ignored(_went_well: bool) -> None:
    """For those who count nothing."""


class Reloaded(Generic[T]):
    """The last value that could be read. Safe to use from many threads; none waits for another's reading.

    paths: looked at every `every_s` seconds at most, when someone asks. Files that cannot be read leave the value that
    there was, and are told of in the log once for each change. Raises ConfigError where the first reading fails.
    """

    def __init__(
        self,
        paths: Sequence[Path],
        read: Callable[[], T],
        clock: Clock,
        *,
        heard: Heard = ignored,
        every_s: float = 1.0,
    ) -> None:
        self._paths = tuple(paths)
        self._read = read
        self._clock = clock
        self._heard = heard
        self._every_s = every_s
        self._lock = Lock()
        self._marks = self._marked()
        self._looked_at = clock.monotonic()
        self._value = read()

    def get(self) -> T:
        if self._clock.monotonic() - self._looked_at >= self._every_s and self._lock.acquire(blocking=False):
            try:
                self._look()
            finally:
                self._lock.release()
        return self._value

    def _look(self) -> None:
        self._looked_at = self._clock.monotonic()
        marks = self._marked()
        if marks == self._marks:
            return
        self._marks = marks  # taken before the reading, so that what changes meanwhile is seen the next time
        try:
            self._value = self._read()
        except ConfigError as error:
            _LOG.error("%s; what was read before stays in force", error)
            self._heard(False)
        else:
            _LOG.info("read again: %s", ", ".join(map(str, self._paths)))
            self._heard(True)

    def _marked(self) -> tuple[tuple[int, int, int] | None, ...]:
        return tuple(_mark(path) for path in self._paths)


def _mark(path: Path) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
