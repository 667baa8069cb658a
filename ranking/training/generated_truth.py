"""The planted model: what users of the generated world really like."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from navi.core.arrays import F64, I64, Array
from navi.core.column import Column
from ranking.training.generated_world import CATEGORIES, DAY, World

WEIGHTS = {"click": 1.0, "long_read": 3.0}
DEVICES = ("desktop", "mobile", "tablet")
_BLOCK = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Strength:
    """How much each part moves the logit of a click, at most (appeal: by standard deviation)."""

    base: float = -5.0
    taste: float = 5.0
    appeal: float = 0.5
    creator: float = 0.8
    price: float = 1.0
    fresh: float = 0.4
    hour: float = 0.2


PRICE_WIDTH = 5.0
"""Distance in price over which the liking for a suiting price falls to 1/e: a peak too sharp for a few dimensions."""
FRESH_DAYS = 10.0


@dataclass(frozen=True, slots=True)
class Truth:
    """The model that the labels of a generated data set are drawn from.

    `affinity` is what a dot product of modest dimension can express; the rest (favourite creators, price, freshness,
    hour by category, device by length) needs features of the pair or of the moment.
    """

    world: World
    strength: Strength = Strength()

    def affinity(self, users: Array, items: Array) -> F64:
        """Taste and appeal in the logit of a click: float64 [n] for positions int64 [n] (or broadcast ones)."""
        world, strength = self.world, self.strength
        alike = np.einsum("...d,...d->...", world.users.vector[users], world.items.vector[items])
        affinity: F64 = strength.taste * alike.astype(np.float64) + strength.appeal * world.items.appeal[items]
        return affinity

    def logits(self, users: I64, items: I64, context: Mapping[str, Column], as_of: F64) -> dict[str, F64]:
        """Log-odds of each task for n pairs: float64 [n].

        users, items: positions int64 [n]. context: `hour` and `device`, n rows each. as_of: seconds, float64 [n].
        """
        hour, device = context["hour"].values, context["device"].values
        made = [
            self._block(users[start:end], items[start:end], hour[start:end], device[start:end], as_of[start:end])
            for start, end in ((start, start + _BLOCK) for start in range(0, max(len(users), 1), _BLOCK))
        ]
        return {task: np.concatenate([block[task] for block in made]) for task in WEIGHTS}

    def value(self, user: int, context: Mapping[str, Column], as_of: float) -> F64:
        """What each item is worth to one user: the sum of `WEIGHTS` x probability, float64 [items].

        user: position. context: `hour` and `device`, one row each. as_of: seconds.
        """
        items = np.arange(len(self.world.items))
        hour, device = (np.full(len(items), context[name].values[0]) for name in ("hour", "device"))
        logits = self._block(np.full(len(items), user), items, hour, device, np.full(len(items), as_of))
        return sum((WEIGHTS[task] * _sigmoid(logit) for task, logit in logits.items()), np.zeros(len(items)))

    def _block(self, users: I64, items: I64, hour: Array, device: Array, as_of: F64) -> dict[str, F64]:
        affinity = self.affinity(users, items)
        click = self.strength.base + affinity + self._interactions(users, items, hour, as_of)
        stays = 0.3 + 0.5 * (affinity - 2.0) + self._length(items, device)
        return {"click": click, "long_read": _logit_of_both(click, stays)}

    def _interactions(self, users: I64, items: I64, hour: Array, as_of: F64) -> F64:
        known, people, strength = self.world.items, self.world.users, self.strength
        followed = (people.creators[users] == known.creator[items][:, None]).any(axis=1)
        price_gap = np.abs(people.price[users].astype(np.float64) - known.price[items])
        age = np.maximum(as_of - known.created[items], 0.0) / DAY
        peak = 24.0 * known.category[items] / CATEGORIES
        moved: F64 = strength.creator * followed + strength.price * np.exp(-price_gap / PRICE_WIDTH)
        moved += strength.fresh * np.exp(-age / FRESH_DAYS) + strength.hour * np.cos(2 * np.pi * (hour - peak) / 24.0)
        return moved

    def _length(self, items: I64, device: Array) -> F64:
        """Long items are read to the end less often, above all on a phone."""
        longer = np.log(self.world.items.length[items].astype(np.float64)) - 5.0
        moved: F64 = longer * np.where(device == "mobile", -1.2, -0.2)
        return moved


def _sigmoid(logit: F64) -> F64:
    return 1.0 / (1.0 + np.exp(-logit))


def _logit_of_both(first: F64, second: F64) -> F64:
    """Log-odds of p * q, from those of p and q: p q / (1 - p q) = 1 / ((1 + e^-a)(1 + e^-b) - 1)."""
    a, b = np.exp(-first), np.exp(-second)
    both: F64 = -np.log(a + b + a * b)
    return both
