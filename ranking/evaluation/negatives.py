"""Items that users did not choose, to set beside those that they did."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from navi.core.arrays import I64, Mask

_ROUNDS = 1000


@dataclass(frozen=True, slots=True)
class Chosen:
    """Which user chose which item. keys: int64 [pairs], ascending, user * items + item."""

    keys: I64
    items: int

    @classmethod
    def of(cls, user: I64, item: I64, *, items: int) -> "Chosen":
        """From pairs of positions [n], repeats allowed; items: how many there are."""
        return cls(np.unique(user * items + item), items)

    def contains(self, user: I64, item: I64) -> Mask:
        """bool [n]: whether the user chose the item."""
        if len(self.keys) == 0:
            return np.zeros(len(user), dtype=np.bool_)
        keys = user * self.items + item
        found = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        known: Mask = self.keys[found] == keys
        return known


def uniform_negatives(chosen: Chosen, users: I64, count: int, generator: np.random.Generator) -> I64:
    """For each of `users` [n], `count` items that they did not choose, all alike likely: int64 [n, count].

    Drawn independently, so that an item may come twice. Raises ValueError for a user who has chosen (nearly) all.
    """
    return _draw(chosen, users, count, lambda size: generator.integers(0, chosen.items, size))


def matched_negatives(chosen: Chosen, users: I64, count: int, generator: np.random.Generator, *, positives: I64) -> I64:
    """Like `uniform_negatives`, but each item as likely as it is among `positives` (int64 [m], items with repeats).

    With the positives that are measured, popularity alone then tells positives from negatives no better than chance.
    """
    return _draw(chosen, users, count, lambda size: positives[generator.integers(0, len(positives), size)])


def _draw(chosen: Chosen, users: I64, count: int, draw: Callable[[int], I64]) -> I64:
    """By rejection: what a user chose is drawn again, up to _ROUNDS times."""
    user = np.repeat(users, count)
    item = draw(len(user))
    wrong = np.flatnonzero(chosen.contains(user, item))
    for _ in range(_ROUNDS):
        if len(wrong) == 0:
            return item.reshape(len(users), count)
        item[wrong] = draw(len(wrong))
        wrong = wrong[chosen.contains(user[wrong], item[wrong])]
    raise ValueError(f"user {user[wrong[0]]} has chosen all that could be drawn")
