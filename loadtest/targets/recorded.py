"""Calls that a server has recorded, asked again: each due call has its own request."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path

import numpy as np

from loadtest.target import Reply, Target
from navi.core.arrays import F64
from navi.core.errors import InvalidArgument
from navi.wire.recorded import RecordedCall, read_recorded


@dataclass(frozen=True, slots=True)
class Recorded:
    """Requests in the order of their arrival. inner: says the method and reads the replies."""

    inner: Target
    calls: tuple[bytes, ...]

    @property
    def method(self) -> str:
        return self.inner.method

    def requests(self, count: int, generator: np.random.Generator) -> list[bytes]:  # noqa: ARG002 - nothing is drawn
        return list(islice(cycle(self.calls), count))

    def read(self, reply: bytes) -> Reply:
        return self.inner.read(reply)

    def part(self, number: int, parts: int) -> "Recorded":
        """Every `parts`-th call from `number` on, as the schedule is dealt out."""
        return Recorded(self.inner, self.calls[number::parts])


@dataclass(frozen=True, slots=True)
class Recording:
    """The calls of one method. arrivals: float64 [calls], seconds since the epoch, sorted. others: calls of other
    methods that the file holds."""

    calls: tuple[bytes, ...]
    arrivals: F64
    others: int


def read_recording(path: Path, method: str) -> Recording:
    """InvalidArgument where the file is none, or holds no call of the method; the message names line and field."""
    try:
        calls = list(read_recorded(path))
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidArgument(str(path), f"cannot be read: {error}") from error
    wanted = sorted((call for call in calls if call.method == method), key=lambda call: call.at)
    if not wanted:
        raise InvalidArgument(str(path), f"holds no call of {method}; it holds {_methods(calls)}")
    arrivals = np.array([call.at for call in wanted], dtype=np.float64)
    return Recording(tuple(call.request for call in wanted), arrivals, len(calls) - len(wanted))


def _methods(calls: Sequence[RecordedCall]) -> str:
    return ", ".join(sorted({call.method for call in calls})) or "none at all"
