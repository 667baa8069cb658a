"""Who was shown what, and when, in the generated world: a mix of popular, fitting, new and random items."""

from dataclasses import dataclass

import numpy as np

from navi.core.arrays import F64, I64
from ranking.training.generated_world import DAY, LOGGED_DAYS, START, Generator, World, draw_weighted

_SHARES = (0.30, 0.45, 0.10, 0.15)
"""Of the impressions, by what chose the item: it is popular, fits the user, is new, or nothing (a random item)."""
_CHOICES = 4
_NEW_DAYS = 3.0
_BLOCK = 200_000
_HOURS = np.array([2, 1, 1, 1, 1, 2, 4, 6, 7, 6, 5, 5, 6, 6, 5, 5, 5, 6, 8, 10, 11, 10, 7, 4], dtype=np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Impressions:
    """Oldest first. user, item: positions int64 [n]. time: seconds float64 [n]."""

    user: I64
    item: I64
    time: F64


def show(world: World, count: int, generator: Generator) -> Impressions:
    """`count` impressions of items that were there at the time."""
    time = _times(count, generator)
    user = draw_weighted(np.cumsum(world.users.activity), (count,), generator)
    policy = _Policy.of(world)
    item = np.empty(count, dtype=np.int64)
    for start in range(0, count, _BLOCK):
        block = slice(start, start + _BLOCK)
        item[block] = policy.choose(user[block], time[block], generator)
    return Impressions(user=user, item=item, time=time)


def _times(count: int, generator: Generator) -> F64:
    hour = draw_weighted(np.cumsum(_HOURS) / _HOURS.sum(), (count,), generator)
    day = generator.integers(0, LOGGED_DAYS, count)
    return np.sort(START + day * DAY + (hour + generator.random(count)) * 3600.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Policy:
    world: World
    by_age: I64
    created: I64
    reach: F64

    @classmethod
    def of(cls, world: World) -> "_Policy":
        by_age = np.argsort(world.items.created, kind="stable")
        reach = np.cumsum(np.exp(world.items.reach.astype(np.float64)))
        return cls(world=world, by_age=by_age, created=world.items.created[by_age], reach=reach / reach[-1])

    def choose(self, user: I64, time: F64, generator: Generator) -> I64:
        """An item for each impression; a random one where the chosen one was not there yet."""
        item = self._between(np.zeros(len(user)), time, generator)
        how = draw_weighted(np.cumsum(_SHARES), (len(user),), generator)
        popular, fitting, new = (np.flatnonzero(how == number) for number in range(3))
        choices = (
            (popular, draw_weighted(self.reach, (len(popular),), generator)),
            (fitting, self._fitting(user[fitting], time[fitting], generator)),
            (new, self._between(time[new] - _NEW_DAYS * DAY, time[new], generator)),
        )
        for rows, drawn in choices:
            item[rows] = np.where(self.world.items.created[drawn] <= time[rows], drawn, item[rows])
        return item

    def _between(self, since: F64, until: F64, generator: Generator) -> I64:
        """A random item of those created from `since` to `until`; the newest before that where there is none."""
        first = np.searchsorted(self.created, since, side="left")
        last = np.maximum(np.searchsorted(self.created, until, side="right"), 1)
        size = np.maximum(last - first, 1)
        drawn: I64 = self.by_age[last - 1 - (generator.random(len(until)) * size).astype(np.int64)]
        return drawn

    def _fitting(self, user: I64, time: F64, generator: Generator) -> I64:
        """The best of a few items of the user's topics and creators, by a noisy view of their taste."""
        world = self.world
        shape = (len(user), _CHOICES // 2)
        topic = _pick(world.users.topics[user], shape, generator)
        creator = _pick(world.users.creators[user], shape, generator)
        drawn = np.concatenate(
            [world.item_by_topic.draw(topic, generator), world.item_by_creator.draw(creator, generator)], axis=1
        )
        fit = np.einsum("ud,ukd->uk", world.users.vector[user], world.items.vector[drawn])
        noisy = 3.0 * fit + 0.5 * world.items.quality[drawn] + generator.gumbel(size=drawn.shape)
        noisy[world.items.created[drawn] > time[:, None]] = -np.inf
        return np.take_along_axis(drawn, noisy.argmax(axis=1)[:, None], axis=1)[:, 0]


def _pick(options: I64, shape: tuple[int, int], generator: Generator) -> I64:
    return np.take_along_axis(options, generator.integers(0, options.shape[1], shape), axis=1)
