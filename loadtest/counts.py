"""How many candidates a request has."""

from dataclasses import dataclass

import numpy as np

from navi.core.arrays import I64
from navi.core.errors import InvalidArgument

PUBLIC = (100, 100, *[200] * 12, 300, 300, 400, 500, 600, 700)
"""Twenty quantiles of a published load profile, mean 270 (`shared/NAVI.md`)."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Draws one of the choices, all as likely."""

    choices: tuple[int, ...] = PUBLIC

    def draw(self, count: int, generator: np.random.Generator) -> I64:
        """int64 [count]."""
        return generator.choice(np.array(self.choices, dtype=np.int64), count)


def counts_of(words: str) -> Counts:
    """From a number, or `public`."""
    if words == "public":
        return Counts()
    if not words.isdecimal() or int(words) < 1:
        raise InvalidArgument("candidates", f"is {words!r}, where a number above 0, or public, is expected")
    return Counts((int(words),))
