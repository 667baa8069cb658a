"""The generated world: items, creators and users, with what is known of them and what is not."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from navi.core.arrays import F32, F64, I64, Array
from navi.core.ragged import offsets_of

Generator: TypeAlias = np.random.Generator

DAY = 86_400.0
START = 1_767_225_600.0
"""2026-01-01: the first impression."""
LOGGED_DAYS = 30
SPLIT_DAY = 24
CREATED_DAYS = 60
CATEGORIES = 40
TOPICS_PER_CATEGORY = 5
ITEMS_PER_CREATOR = 20
VECTOR = 16
FAVOURITE_TOPICS = 4
FAVOURITE_CREATORS = 6
AGE_BANDS = ("18-24", "25-34", "35-44", "45-54", "55-64", "65+")
COUNTRIES = ("BR", "DE", "FR", "GB", "IN", "JP", "NG", "US")
AD_SHARE = 0.05


@dataclass(frozen=True, slots=True)
class Groups:
    """Members of groups that are numbered from 0: those of group g are `order[bounds[g]:bounds[g + 1]]`."""

    order: I64
    bounds: I64

    @classmethod
    def of(cls, group: I64, count: int) -> "Groups":
        """From each member's group, int64 [members]."""
        return cls(np.argsort(group, kind="stable"), offsets_of(np.bincount(group, minlength=count)))

    def draw(self, groups: I64, generator: Generator) -> I64:
        """A random member of each of `groups` (any shape); of an empty group, a random member of any."""
        start, size = self.bounds[groups], np.diff(self.bounds)[groups]
        start, size = np.where(size > 0, start, 0), np.where(size > 0, size, len(self.order))
        return self.order[start + (generator.random(groups.shape) * size).astype(np.int64)]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldItems:
    """[n] each. Known to models: all but `vector` (float32 [n, VECTOR]), `appeal` and `reach`.

    creator, topic, category: numbers. created: seconds since the epoch. price: 0 to 100. length: seconds.
    quality: `appeal` as a noisy editor sees it. reach: how often it is shown whatever its appeal. bid: NaN but for ads.
    """

    id: I64
    creator: I64
    topic: I64
    category: I64
    created: I64
    price: F32
    length: F32
    quality: F32
    bid: F32
    appeal: F32
    reach: F32
    vector: F32

    def __len__(self) -> int:
        return len(self.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldUsers:
    """[n] each. Known to models: id, age, country, price (the price that suits them), declared.

    age, country: positions in AGE_BANDS, COUNTRIES. declared: the category that they named when they signed up, or -1.
    activity: expected share of the impressions. topics, creators: favourites, int64 [n, FAVOURITE_*].
    vector: float32 [n, VECTOR].
    """

    id: I64
    age: I64
    country: I64
    price: F32
    declared: I64
    activity: F64
    topics: I64
    creators: I64
    vector: F32

    def __len__(self) -> int:
        return len(self.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Everything that the planted model and the logging policy know."""

    items: WorldItems
    users: WorldUsers
    item_by_topic: Groups
    item_by_creator: Groups


def make_world(items: int, users: int, generator: Generator) -> World:
    """Items and users of these numbers."""
    topic_vectors = _topic_vectors(generator)
    made = _items(items, topic_vectors, generator)
    by_topic = Groups.of(made.topic, len(topic_vectors))
    by_creator = Groups.of(made.creator, int(made.creator.max()) + 1)
    favourites = _favourite_topics(users, generator)
    people = _users(favourites, topic_vectors, made.creator[by_topic.draw(favourites.drawn, generator)], generator)
    return World(items=made, users=people, item_by_topic=by_topic, item_by_creator=by_creator)


def _topic_vectors(generator: Generator) -> F32:
    categories = _unit(generator.standard_normal((CATEGORIES, VECTOR)))
    own = _unit(generator.standard_normal((CATEGORIES * TOPICS_PER_CATEGORY, VECTOR)))
    return _unit(0.7 * np.repeat(categories, TOPICS_PER_CATEGORY, axis=0) + 0.7 * own)


def _items(count: int, topic_vectors: F32, generator: Generator) -> WorldItems:
    creators = max(count // ITEMS_PER_CREATOR, 1)
    creator = _weighted(np.arange(1, creators + 1) ** -0.6, count, generator)
    home = generator.integers(0, len(topic_vectors), creators)
    strays = generator.random(count) < 0.2
    topic = np.where(strays, generator.integers(0, len(topic_vectors), count), home[creator])
    style = _unit(generator.standard_normal((creators, VECTOR)))[creator]
    own = generator.standard_normal((count, VECTOR)) / np.sqrt(VECTOR)
    appeal = generator.standard_normal(count)
    age = generator.random(count) * CREATED_DAYS * DAY
    age[0] = CREATED_DAYS * DAY  # so that there is always something to show
    return WorldItems(
        id=_ids(count, generator),
        creator=creator,
        topic=topic,
        category=topic // TOPICS_PER_CATEGORY,
        created=(START + SPLIT_DAY * DAY - age).astype(np.int64),
        price=_prices(count, generator),
        length=_f32(np.exp(5.0 + 0.6 * generator.standard_normal(count))),
        quality=_f32(appeal + 0.3 * generator.standard_normal(count)),
        bid=_bids(count, generator),
        appeal=_f32(appeal),
        reach=_f32(0.6 * appeal + generator.standard_normal(count)),
        vector=_unit(topic_vectors[topic] + 0.35 * style + 0.15 * own),
    )


@dataclass(frozen=True, slots=True)
class _Favourites:
    age: I64
    topics: I64
    drawn: I64


def _favourite_topics(count: int, generator: Generator) -> _Favourites:
    """Two categories a user, which age makes likelier, with two topics in each; and a topic for each creator."""
    age = generator.integers(0, len(AGE_BANDS), count)
    habit = np.exp(generator.standard_normal((len(AGE_BANDS), CATEGORIES)))
    first, second = (_weighted_rows(habit, age, generator) for _ in range(2))
    category = np.stack([first, first, second, second], axis=1)
    topics = category * TOPICS_PER_CATEGORY + generator.integers(0, TOPICS_PER_CATEGORY, category.shape)
    pick = generator.integers(0, FAVOURITE_TOPICS, (count, FAVOURITE_CREATORS))
    return _Favourites(age, topics, np.take_along_axis(topics, pick, axis=1))


def _users(favourites: _Favourites, topic_vectors: F32, creators: I64, generator: Generator) -> WorldUsers:
    count = len(favourites.age)
    taste = np.einsum("k,ukd->ud", np.array([0.4, 0.3, 0.2, 0.1]), topic_vectors[favourites.topics])
    own = generator.standard_normal((count, VECTOR)) / np.sqrt(VECTOR)
    activity = np.exp(0.6 * generator.standard_normal(count))
    declared = np.where(generator.random(count) < 0.6, favourites.topics[:, 0] // TOPICS_PER_CATEGORY, -1)
    return WorldUsers(
        id=_ids(count, generator),
        age=favourites.age,
        country=generator.integers(0, len(COUNTRIES), count),
        price=_prices(count, generator),
        declared=declared,
        activity=activity / activity.sum(),
        topics=favourites.topics,
        creators=creators,
        vector=_unit(_unit(taste) + 0.1 * own),
    )


def draw_weighted(cumulative: F64, shape: Sequence[int], generator: Generator) -> I64:
    """Positions drawn with the probabilities whose running sum (ending in 1) is `cumulative`."""
    drawn = np.searchsorted(cumulative, generator.random(tuple(shape)), side="right")
    return np.minimum(drawn, len(cumulative) - 1)


def _weighted(weights: Array, count: int, generator: Generator) -> I64:
    return draw_weighted(np.cumsum(weights) / weights.sum(), (count,), generator)


def _weighted_rows(weights: F64, row: I64, generator: Generator) -> I64:
    """A column for each of `row`, drawn by that row of `weights`: Gumbel-max over the few columns."""
    drawn: I64 = np.argmax(np.log(weights)[row] + generator.gumbel(size=(len(row), weights.shape[1])), axis=1)
    return drawn


def _ids(count: int, generator: Generator) -> I64:
    """Ascending, with gaps, so that nobody takes an id for a position."""
    ids: I64 = 1_000_000 + np.cumsum(generator.integers(1, 90, count))
    return ids


def _prices(count: int, generator: Generator) -> F32:
    return _f32(np.round(100 * generator.beta(2.0, 2.5, count), 2))


def _bids(count: int, generator: Generator) -> F32:
    is_ad = generator.random(count) < AD_SHARE
    return _f32(np.where(is_ad, np.exp(-0.7 + 0.5 * generator.standard_normal(count)), np.nan))


def _unit(vectors: Array) -> F32:
    return _f32(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True))


def _f32(values: Array) -> F32:
    return values.astype(np.float32)
