"""The seam through which runs of a model are watched as they happen."""

from collections.abc import Sequence
from typing import Protocol


class BatchObserver(Protocol):
    """Told of every run, from the batcher's thread; must be quick, and must not raise."""

    def ran(self, model: str, rows: int, seconds: float, waits: Sequence[float]) -> None:
        """One run of a model over `rows` rows, which took `seconds`.

        waits: the seconds in the queue of each call that it answered; none where it failed.
        """
        ...

    def dropped(self, model: str, reason: str) -> None:
        """A call got no run (`cancelled`, `deadline`, `late`, `refused`), or the model `failed` on it."""
        ...


class Unwatched:
    """Nobody watches."""

    def ran(self, model: str, rows: int, seconds: float, waits: Sequence[float]) -> None:
        pass

    def dropped(self, model: str, reason: str) -> None:
        pass
