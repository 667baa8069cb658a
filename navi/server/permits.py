"""The door: how many calls may be in flight."""

from threading import Lock


class Permits:
    """A counter with a cap that never makes anyone wait. Safe to use from many threads."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._in_use = 0
        self._lock = Lock()

    def take(self) -> bool:
        """Whether there was a permit; one that was taken must be given back once."""
        with self._lock:
            if self._in_use >= self._limit:
                return False
            self._in_use += 1
            return True

    def give(self) -> None:
        with self._lock:
            assert self._in_use > 0
            self._in_use -= 1

    @property
    def in_use(self) -> int:
        return self._in_use
