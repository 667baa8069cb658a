"""Who asks, and for what: keys drawn by a Zipf law, or evenly."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from navi.core.arrays import F64, I64
from navi.core.errors import InvalidArgument
from navi.core.ids import Ids


@dataclass(frozen=True)
class Population:
    """Keys, the r-th most frequent of which comes with probability proportional to r ** -exponent (Zipf's law).

    exponent: 0 draws evenly. Which keys are frequent is a fixed shuffle: neighbours in the key space are not alike.
    """

    keys: Ids
    exponent: float = 0.0

    def draw(self, count: int, generator: np.random.Generator) -> Ids:
        """With repetition, [count]."""
        ranks = np.searchsorted(self._cumulative, generator.random(count) * self._cumulative[-1], side="right")
        return self.keys.take(self._order[np.minimum(ranks, len(self.keys) - 1)])

    def distinct(self, count: int, generator: np.random.Generator) -> Ids:
        """Without repetition and evenly, whatever the exponent, [count]."""
        if count > len(self.keys):
            raise InvalidArgument("items", f"are {len(self.keys):,}, fewer than the {count:,} of one request")
        return self.keys.take(generator.choice(len(self.keys), count, replace=False, shuffle=False))

    @cached_property
    def _cumulative(self) -> F64:
        return np.cumsum(np.arange(1, len(self.keys) + 1, dtype=np.float64) ** -self.exponent)

    @cached_property
    def _order(self) -> I64:
        return np.random.default_rng(0).permutation(len(self.keys))


def population(words: str, *, field: str, exponent: float = 0.0) -> Population:
    """From `first..last` (integers, both included), or from a text file with one key a line: integers where all are.

    Raises InvalidArgument, naming `field`.
    """
    if not (np.isfinite(exponent) and exponent >= 0):
        raise InvalidArgument(f"{field} exponent", f"is {exponent}, where a number from 0 is expected")
    first, dots, last = words.partition("..")
    keys = _from_range(first, last, field) if dots and "/" not in words else _from_file(Path(words), field)
    if not len(keys):
        raise InvalidArgument(field, f"{words} holds no key")
    return Population(keys, exponent)


def _from_range(first: str, last: str, field: str) -> Ids:
    try:
        return Ids(np.arange(int(first), int(last) + 1, dtype=np.int64))
    except (ValueError, OverflowError) as error:
        raise InvalidArgument(field, f"{first}..{last} is not a range of whole numbers") from error


def _from_file(path: Path, field: str) -> Ids:
    try:
        lines = [line for raw in path.read_text(encoding="utf-8").splitlines() if (line := raw.strip())]
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidArgument(field, f"{path} is neither first..last nor a file of keys: {error}") from error
    try:
        return Ids(np.array([int(line) for line in lines], dtype=np.int64))
    except (ValueError, OverflowError):
        return Ids.of_text(lines)
