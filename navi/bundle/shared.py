"""A thing with several holders, closed when the last of them has let go."""

from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

T = TypeVar("T")


class Shared(Generic[T]):
    """Made with one holder. Safe to use from many threads."""

    def __init__(self, thing: T, close: Callable[[T], None]) -> None:
        """close: called once, by the thread that lets go last; must not raise."""
        self.thing = thing
        self._close = close
        self._holders = 1
        self._lock = Lock()

    def hold(self) -> "Shared[T]":
        """One more holder; only by who knows that there is one."""
        with self._lock:
            assert self._holders > 0, "held after the last holder let go"
            self._holders += 1
        return self

    def try_hold(self) -> bool:
        """One more holder, unless the last has let go already."""
        with self._lock:
            held = self._holders > 0
            self._holders += held
        return held

    def let_go(self) -> None:
        with self._lock:
            self._holders -= 1
            last = self._holders == 0
        if last:
            self._close(self.thing)
