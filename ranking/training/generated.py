"""A data set with a planted structure, so that every user's true best is known."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from navi.core.arrays import Array
from navi.core.column import Column
from navi.core.errors import ConfigError
from navi.core.ids import Ids
from ranking.training.dataset import Dataset, Events, FeaturePlan
from ranking.training.generated_log import Impressions, show
from ranking.training.generated_truth import DEVICES, WEIGHTS, Truth
from ranking.training.generated_world import (
    AGE_BANDS,
    COUNTRIES,
    DAY,
    SPLIT_DAY,
    START,
    Generator,
    World,
    WorldUsers,
    make_world,
)

_PLAN = FeaturePlan(
    item_categories=("category", "topic", "creator"),
    item_numbers=("price", "quality"),
    item_log_numbers=("length",),
    item_created="created_at",
    user_categories=("age_band", "country", "declared_category"),
    user_numbers=("price_preference",),
    context_categories=("hour", "device"),
    affinities=("category", "topic", "creator"),
    gaps=(("price_preference", "price"),),
)


@dataclass(frozen=True, slots=True)
class Generated:
    """A data set, and the model that its labels were drawn from."""

    dataset: Dataset
    truth: Truth


def generate(*, items: int = 20_000, users: int = 5_000, events: int = 400_000, seed: int = 7) -> Generated:
    """A feed of items with ads among them: `events` impressions in 30 days, of which the last 6 are after the split.

    Tasks: `click` and `long_read` (of a clicked item; 0 without a click), both defined for every impression.
    All items are created before the split. Raises ConfigError, naming the size, where one is below 1.
    """
    for name, size in (("items", items), ("users", users), ("events", events)):
        if size < 1:
            raise ConfigError(name, f"must be at least 1, not {size}")
    generator = np.random.default_rng(seed)
    truth = Truth(make_world(items, users, generator))
    impressions = show(truth.world, events, generator)
    return Generated(_dataset(truth, _events(truth, impressions, generator)), truth)


def _events(truth: Truth, shown: Impressions, generator: Generator) -> Events:
    context = _context(shown, generator)
    logits = truth.logits(shown.user, shown.item, context, shown.time)
    # One draw for both tasks: a long read is a click whose reader stayed, so its label is never 1 alone.
    draw = np.log(generator.random(len(shown.user)))
    labels = {task: (draw < -np.logaddexp(0.0, -logit)).astype(np.float32) for task, logit in logits.items()}
    return Events(user=shown.user, item=shown.item, time=shown.time, context=context, labels=labels)


def _context(shown: Impressions, generator: Generator) -> dict[str, Column]:
    hour = ((shown.time - START) % DAY // 3600).astype(np.int64)
    device = np.array(DEVICES, dtype=object)[generator.choice(len(DEVICES), len(hour), p=(0.3, 0.6, 0.1))]
    return {"hour": Column(hour), "device": Column(device)}


def _dataset(truth: Truth, events: Events) -> Dataset:
    split = START + SPLIT_DAY * DAY
    return Dataset(
        name="generated",
        items=_item_table(truth.world),
        user_ids=Ids(truth.world.users.id),
        users=_user_columns(truth.world.users),
        events=events,
        split=split,
        plan=_PLAN,
        tasks=tuple(WEIGHTS),
        positive="click",
        weights=WEIGHTS,
        complete_impressions=True,
        diversity="creator",
    )


def _item_table(world: World) -> pa.Table:
    items = world.items
    return pa.table(
        {
            "id": items.id,
            "creator": 1_000 + 7 * items.creator,
            "category": _names("category", items.category),
            "topic": _names("topic", items.topic),
            "price": items.price,
            "length": items.length,
            "quality": items.quality,
            "created_at": items.created,
            "bid": pa.array(items.bid, mask=np.isnan(items.bid)),
        }
    )


def _user_columns(users: WorldUsers) -> Mapping[str, Column]:
    declared = Column(_names("category", np.maximum(users.declared, 0)), valid=users.declared >= 0)
    return {
        "age_band": Column(np.array(AGE_BANDS, dtype=object)[users.age]),
        "country": Column(np.array(COUNTRIES, dtype=object)[users.country]),
        "declared_category": declared,
        "price_preference": Column(users.price),
    }


def _names(kind: str, numbers: Array) -> Array:
    names = np.array([f"{kind}-{number}" for number in range(int(numbers.max(initial=0)) + 1)], dtype=object)
    return names[numbers]
