"""A tiny random data set, whole or without impressions, with integer or text ids."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch

from navi.core.column import Column
from navi.core.ids import Ids
from navi.features.item_table import ItemTable
from navi.features.item_table_writer import write_item_table
from ranking.training.corpus import Corpus, before_split, items_with_popularity, with_table_rows
from ranking.training.dataset import Dataset, Events, FeaturePlan
from ranking.training.options import RankerOptions, TowerOptions, TrainOptions

ITEMS, USERS, EVENTS, START, SPLIT = 40, 25, 900, 1_000_000.0, 1_009_000.0
PLAN = FeaturePlan(
    item_categories=("kind", "maker", "tags"),
    item_numbers=("price",),
    item_log_numbers=("length",),
    item_created="created_at",
    user_categories=("country",),
    user_numbers=("budget",),
    context_categories=("device",),
    context_numbers=("hour",),
    affinities=("kind", "maker"),
    gaps=(("budget", "price"),),
)


def make_dataset(*, seed: int = 0, complete: bool = True, text: bool = False) -> Dataset:
    """Times repeat, so that several events share a moment; some makers, prices and countries are missing."""
    random = np.random.default_rng(seed)
    time = np.sort(START + random.integers(0, 2_500, EVENTS) * 4.0)
    item = random.integers(0, ITEMS, EVENTS)
    user = random.integers(0, USERS, EVENTS)
    liked = (item % 4 == user % 4) & (random.random(EVENTS) < 0.8)
    click = np.ones(EVENTS, np.float32) if not complete else liked.astype(np.float32)
    read = np.where(click > 0, random.random(EVENTS) < 0.5, 0).astype(np.float32)
    device = np.array(["phone", "desk"], dtype=object)[(time / 4).astype(int) % 2]
    context = {"device": Column(device), "hour": Column((time // 3600 % 24).astype(np.float32))}
    return Dataset(
        name="tiny",
        items=make_items(random, text=text),
        user_ids=Ids.of([f"u{number}" for number in range(USERS)] if text else list(range(100, 100 + USERS))),
        users={
            "country": Column(
                np.array(["a", "b", "c"], dtype=object)[random.integers(0, 3, USERS)], valid=_some(random)
            ),
            "budget": Column(random.random(USERS).astype(np.float32), valid=_some(random)),
        },
        events=Events(user=user, item=item, time=time, context=context, labels={"click": click, "read": read}),
        split=SPLIT,
        plan=PLAN,
        tasks=("click", "read"),
        positive="click",
        weights={"click": 1.0, "read": 2.0},
        complete_impressions=complete,
        diversity="maker",
    )


def make_items(random: np.random.Generator, *, text: bool) -> pa.Table:
    """In an order that is not that of the ids."""
    ids = random.permutation(ITEMS) + 1_000
    maker = random.integers(0, 6, ITEMS)
    return pa.table(
        {
            "id": [f"i{number}" for number in ids] if text else ids,
            "kind": [f"k{number % 4}" for number in range(ITEMS)],
            "maker": pa.array(maker, mask=maker == 5),
            "tags": [[f"t{tag}" for tag in range(number % 3)] for number in range(ITEMS)],
            "price": pa.array(random.random(ITEMS).astype(np.float32), mask=random.random(ITEMS) < 0.1),
            "length": random.random(ITEMS).astype(np.float32) * 100,
            "created_at": (START - random.integers(0, 100_000, ITEMS)).astype(np.int64),
        }
    )


def _some(random: np.random.Generator) -> np.ndarray:
    return random.random(USERS) < 0.8


def make_corpus(dataset: Dataset, folder: Path) -> Corpus:
    past = before_split(dataset)
    write_item_table(items_with_popularity(past), folder / "items.arrow", key="id")
    return with_table_rows(past, ItemTable.open(folder / "items.arrow"))


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> None:
    """For models this small, torch's threads wait for each other more than they work."""
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def tiny() -> Callable[..., Dataset]:
    return make_dataset


@pytest.fixture
def corpus_of(tmp_path: Path) -> Callable[[Dataset], Corpus]:
    return lambda dataset: make_corpus(dataset, tmp_path)


@pytest.fixture(scope="session")
def tiny_corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """The data set with impressions and integer ids; read-only."""
    return make_corpus(make_dataset(), tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="session")
def quick() -> TrainOptions:
    """One epoch of small models."""
    return TrainOptions(
        history=5,
        seen=10,
        min_count=1,
        negatives=2,
        sample_rows=30,
        ranker=RankerOptions(epochs=2, batch_rows=128, id_dim=4, category_dim=3, cross_rank=4, hidden=(8,)),
        tower=TowerOptions(
            epochs=2, batch=16, dim=8, id_dim=4, category_dim=3, hidden=(8,), uniform_negatives=8, distil_items=4
        ),
    )
