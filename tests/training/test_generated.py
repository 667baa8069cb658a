"""Rules of the generated data set: it is what its planted model says, and nothing looks ahead."""

from dataclasses import replace

import numpy as np
import pytest

from navi.core.column import Column
from navi.core.errors import ConfigError
from ranking.training.generated import Generated, generate
from ranking.training.generated_truth import Strength, Truth


@pytest.fixture(scope="module")
def generated() -> Generated:
    return generate(items=20_000, users=400, events=60_000, seed=5)


def _context(rows: int, *, hour: int = 9, device: str = "mobile") -> dict[str, Column]:
    return {
        "hour": Column(np.full(rows, hour, dtype=np.int64)),
        "device": Column(np.array([device] * rows, dtype=object)),
    }


def _sigmoid(logits: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-logits))


def test_sizes_are_those_asked_for(generated: Generated) -> None:
    dataset = generated.dataset
    assert (dataset.items.num_rows, len(dataset.user_ids), len(dataset.events)) == (20_000, 400, 60_000)
    assert all(len(column) == 400 for column in dataset.users.values())
    assert all(len(column) == 60_000 for column in dataset.events.context.values())


@pytest.mark.parametrize("sizes", [{"items": 1}, {"users": 1}, {"events": 1}])
def test_the_smallest_sizes_are_generated_too(sizes: dict[str, int]) -> None:
    dataset = generate(**{"items": 50, "users": 20, "events": 100, **sizes}).dataset
    assert len(dataset.events) == sizes.get("events", 100)
    assert (dataset.items["created_at"].to_numpy()[dataset.events.item] <= dataset.events.time).all()


@pytest.mark.parametrize("name", ["items", "users", "events"])
def test_a_size_below_one_is_refused_by_name(name: str) -> None:
    with pytest.raises(ConfigError, match=f"{name}: must be at least 1, not 0"):
        generate(**{name: 0})


def test_one_seed_gives_one_data_set_and_another_seed_another() -> None:
    first, again, other = (generate(items=200, users=50, events=1000, seed=seed).dataset for seed in (1, 1, 2))
    assert first.items.equals(again.items)
    assert np.array_equal(first.events.item, again.events.item)
    assert np.array_equal(first.events.labels["click"], again.events.labels["click"])
    assert not first.items.equals(other.items)


def test_ids_ascend_with_gaps_and_events_are_oldest_first(generated: Generated) -> None:
    ids = generated.dataset.items["id"].to_numpy()
    assert (np.diff(ids) > 0).all()
    assert (np.diff(ids) > 1).any()
    assert (np.diff(generated.dataset.events.time) >= 0).all()


def test_every_named_feature_is_there(generated: Generated) -> None:
    dataset, plan = generated.dataset, generated.dataset.plan
    items = {*plan.item_categories, *plan.item_numbers, *plan.item_log_numbers, *plan.affinities, plan.item_created}
    assert items <= set(dataset.items.column_names)
    assert {*plan.user_categories, *plan.user_numbers} <= dataset.users.keys()
    assert {*plan.context_categories, *plan.context_numbers} == dataset.events.context.keys()
    assert set(dataset.tasks) == dataset.events.labels.keys() == dataset.weights.keys()


def test_what_is_known_of_items_and_users_does_not_depend_on_what_happened() -> None:
    few, many = (generate(items=300, users=60, events=events).dataset for events in (10, 5000))
    assert few.items.equals(many.items)
    for name, column in few.users.items():
        assert np.array_equal(column.values, many.users[name].values)


def test_no_item_is_shown_before_it_is_created(generated: Generated) -> None:
    created = generated.dataset.items["created_at"].to_numpy()
    assert (created[generated.dataset.events.item] <= generated.dataset.events.time).all()
    assert created.max() <= generated.dataset.split


def test_both_sides_of_the_split_have_positives(generated: Generated) -> None:
    events = generated.dataset.events
    after = events.time >= generated.dataset.split
    assert 0.15 < after.mean() < 0.25
    assert events.labels["click"][after].any()
    assert events.labels["long_read"][~after].any()


def test_a_long_read_is_a_click(generated: Generated) -> None:
    labels = generated.dataset.events.labels
    assert (labels["long_read"] <= labels["click"]).all()
    assert set(np.unique(labels["click"])) == {0.0, 1.0}


@pytest.mark.parametrize("task", ["click", "long_read"])
def test_labels_are_as_frequent_as_the_planted_model_says(generated: Generated, task: str) -> None:
    events = generated.dataset.events
    chance = _sigmoid(generated.truth.logits(events.user, events.item, events.context, events.time)[task])
    for rows in np.array_split(np.argsort(chance), 10):
        deviation = np.sqrt((chance[rows] * (1 - chance[rows])).sum())
        assert abs(events.labels[task][rows].sum() - chance[rows].sum()) < 4 * deviation


def test_value_is_the_weighted_sum_of_the_chances(generated: Generated) -> None:
    dataset, as_of = generated.dataset, generated.dataset.split
    items = np.arange(20_000)
    logits = generated.truth.logits(np.full(20_000, 7), items, _context(20_000), np.full(20_000, as_of))
    expected = sum(dataset.weights[task] * _sigmoid(logits[task]) for task in dataset.tasks)
    value = generated.truth.value(7, _context(1), as_of)
    assert value.dtype == np.float64
    np.testing.assert_allclose(value, expected, rtol=1e-12)


def test_each_planted_part_moves_the_logit_by_its_strength(generated: Generated) -> None:
    truth = generated.truth
    world, rows = truth.world, 20_000
    pairs = (np.zeros(rows, dtype=np.int64), np.arange(rows), _context(rows), np.full(rows, generated.dataset.split))
    full = truth.logits(*pairs)["click"]

    def without(name: str) -> np.ndarray:
        return full - Truth(world, replace(Strength(), **{name: 0.0})).logits(*pairs)["click"]

    favourite = np.isin(world.items.creator, world.users.creators[0])
    np.testing.assert_allclose(without("creator"), Strength().creator * favourite, atol=1e-9)
    closest = np.argmin(np.abs(world.items.price - world.users.price[0]))
    assert without("price").argmax() == closest
    assert without("fresh").argmax() == world.items.created.argmax()
    assert np.abs(without("hour")).max() == pytest.approx(Strength().hour, rel=0.01)


def test_a_long_item_is_read_to_the_end_less_often_on_a_phone(generated: Generated) -> None:
    length, as_of = generated.truth.world.items.length, generated.dataset.split
    phone, desk = (generated.truth.value(3, _context(1, device=device), as_of) for device in ("mobile", "desktop"))
    assert (phone < desk)[length > np.exp(5.1)].all()
    assert (phone > desk)[length < np.exp(4.9)].all()


def test_a_dot_product_finds_the_best_items_but_cannot_order_them(generated: Generated) -> None:
    world, truth = generated.truth.world, generated.truth
    found, ordered = [], []
    for user in range(40):
        value = truth.value(user, _context(1, hour=user % 24), generated.dataset.split)
        best = np.argsort(-value)[:20]
        by_dot = np.argsort(-truth.affinity(np.array(user), np.arange(20_000)))
        favourite = np.flatnonzero(np.isin(world.items.creator, world.users.creators[user]))
        found.append(np.isin(best, np.union1d(by_dot[:100], favourite)).mean())
        ordered.append(np.isin(best, by_dot[:20]).mean())
    assert np.mean(found) > 0.96
    assert np.mean(ordered) < 0.75
