"""Calls that have ended in one client process, until they are reported."""

from array import array
from collections import Counter
from collections.abc import Mapping

import numpy as np

from loadtest.messages import Chunk
from loadtest.result import OUTCOMES, Outcome

MAX_TEXTS = 50
"""Different error texts that are kept apart: a text may hold what differs from call to call."""

_NUMBER = {outcome: number for number, outcome in enumerate(OUTCOMES)}


class Tally:
    """Collects; `take` hands over what came since the last time."""

    def __init__(self) -> None:
        self.calls = 0
        self._texts: set[str] = set()
        self._clear()

    def add(self, due: float, sent: float, ended: float, *, outcome: Outcome, connection: int) -> None:
        """A call that has ended. Times are seconds from the common start."""
        self.calls += 1
        self._times.extend((due, sent, ended))
        self._outcomes.append(_NUMBER[outcome])
        self._connections.append(connection)

    def add_stages(self, stages: Mapping[str, float]) -> None:
        for name, seconds in stages.items():
            self._stages.setdefault(name, array("d")).append(seconds)

    def add_error(self, text: str) -> None:
        if text not in self._texts and len(self._texts) >= MAX_TEXTS:
            text = "others"
        self._texts.add(text)
        self._errors[text] += 1

    def take(self) -> Chunk:
        times = np.array(self._times, dtype=np.float64).reshape(-1, 3)
        chunk = Chunk(
            due=times[:, 0].copy(),
            sent=times[:, 1].copy(),
            ended=times[:, 2].copy(),
            outcome=np.frombuffer(bytes(self._outcomes), dtype=np.uint8),
            connection=np.array(self._connections, dtype=np.int32),
            stages={name: np.array(values, dtype=np.float64) for name, values in self._stages.items()},
            errors=dict(self._errors),
        )
        self._clear()
        return chunk

    def _clear(self) -> None:
        self._times = array("d")
        self._outcomes = bytearray()
        self._connections = array("i")
        self._stages: dict[str, array[float]] = {}
        self._errors: Counter[str] = Counter()
