"""What the layers, the two models and their losses compute."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from navi.features.inputs import Category, History, InputSpec, Numeric
from ranking.training.distil import TeacherLists, items_at
from ranking.training.layers import CrossLayer, Embeddings, Slot, drop_codes
from ranking.training.metrics import auc, recall_at
from ranking.training.model_shape import ModelShape
from ranking.training.negatives import NegativeSampler, corrected
from ranking.training.options import RankerOptions, TowerOptions
from ranking.training.ranker import Ranker
from ranking.training.ranker_objective import cross_entropy
from ranking.training.rows import Rows, with_negatives
from ranking.training.tensors import InputTensors
from ranking.training.tower_objective import Positives, TowerObjective
from ranking.training.two_tower import TwoTower

SIZES = {"item_id": 12, "item_kind": 5, "device": 3}


def dense(name: str, scope: str, origin: str, width: int) -> InputSpec:
    features = tuple(Numeric(name=f"{name}{at}", feature=f"{origin}.{name}{at}") for at in range(width))
    return InputSpec(name=name, scope=scope, dtype="float32", features=features)


INPUTS = (
    dense("request_dense", "request", "user", 2),
    InputSpec(
        name="request_ids",
        scope="request",
        dtype="int64",
        features=(
            History(name="items", feature="user.items", vocabulary="item_id", length=4),
            Category(name="device", feature="request.device", vocabulary="device"),
            History(name="kinds", feature="user.kinds", vocabulary="item_kind", length=3),
        ),
    ),
    InputSpec(
        name="item_ids",
        scope="item",
        dtype="int64",
        features=(
            Category(name="kind", feature="item.kind", vocabulary="item_kind"),
            Category(name="id", feature="item.id", vocabulary="item_id"),
        ),
    ),
    dense("pair_dense", "pair", "item", 3),
)
SHAPE = ModelShape({spec.name: spec for spec in INPUTS}, SIZES)


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


def batch(n: int) -> dict[str, Tensor]:
    codes = [torch.randint(0, high, (n, width)) for high, width in ((12, 4), (3, 1), (5, 3))]
    return {
        "request_dense": torch.randn(n, 2),
        "request_ids": torch.cat(codes, dim=1),
        "item_ids": torch.cat([torch.randint(0, 5, (n, 1)), torch.randint(0, 12, (n, 1))], dim=1),
        "pair_dense": torch.randn(n, 3),
    }


def ranker() -> Ranker:
    return Ranker(SHAPE, 2, RankerOptions(id_dim=6, category_dim=4, cross_rank=5, hidden=(16, 8))).eval()


def relative(one: Tensor, other: Tensor) -> float:
    return float(((one - other).abs() / one.abs().clamp(min=1)).max().detach())


def test_a_logit_does_not_depend_on_its_batch() -> None:
    model, inputs = ranker(), batch(50)
    together = model(**inputs)
    assert together.shape == (50, 2)
    alone = torch.cat([model(**{name: values[at : at + 1] for name, values in inputs.items()}) for at in range(50)])
    order = torch.randperm(50)
    shuffled = model(**{name: values[order] for name, values in inputs.items()})
    assert relative(together, alone) <= 1e-5
    assert relative(together[order], shuffled) <= 1e-5


def test_a_requests_part_may_be_computed_once_for_all_its_rows() -> None:
    model, inputs = ranker(), batch(9)
    request = model.request_part(inputs["request_dense"][:1], inputs["request_ids"][:1]).expand(9, -1)
    shared = model.joint(request, model.item_part(inputs["item_ids"], None), inputs["pair_dense"])
    repeated = {name: values[:1].expand(9, -1) for name, values in inputs.items() if name.startswith("request")}
    assert relative(shared, model(**{**inputs, **repeated})) <= 1e-6


def test_what_a_user_took_is_multiplied_with_what_the_item_is() -> None:
    model, inputs = ranker(), batch(3)
    request = model.request_part(inputs["request_dense"], inputs["request_ids"])
    item = model.item_part(inputs["item_ids"], None)
    kind, items = model.embeddings(inputs["item_ids"], model.item_slots)
    of_items, _, of_kinds = model.embeddings(inputs["request_ids"], model.request_slots)
    found = [request[:, a : a + dim] * item[:, b : b + dim] for a, b, dim in model.products]
    assert torch.equal(torch.cat(found, 1), torch.cat([of_items * items, of_kinds * kind], 1))


def test_lists_are_averaged_over_what_is_known_in_training_as_in_serving() -> None:
    embeddings = Embeddings({"item_id": 12}, {"item_id": 6})
    codes = torch.tensor([[3, 4, 0, 0], [0, 0, 0, 0], [5, 0, 7, 7]])
    slots = (Slot("item_id", 0, 4, pooled=True),)
    weight = embeddings.table("item_id").weight
    expected = torch.stack([(weight[3] + weight[4]) / 2, torch.zeros(6), (weight[5] + 2 * weight[7]) / 3])
    for mode in (True, False):
        (pooled,) = embeddings.train(mode)(codes, slots)
        torch.testing.assert_close(pooled, expected)


@pytest.mark.parametrize("rank", [0, 3])
def test_a_cross_layer_is_that_of_the_paper(rank: int) -> None:
    layer = CrossLayer(7, rank)
    x0, x = torch.randn(4, 7), torch.randn(4, 7)
    if rank:
        weight, bias = layer.linear[1].weight @ layer.linear[0].weight, layer.linear[1].bias
    else:
        weight, bias = layer.linear.weight, layer.linear.bias
    torch.testing.assert_close(layer(x0, x), x0 * (x @ weight.T + bias) + x)


def test_ids_are_dropped_in_their_share_and_in_their_column_only() -> None:
    codes = torch.full((20_000, 3), 5)
    dropped = drop_codes(codes, 1, 0.3, torch.Generator().manual_seed(1))
    assert (dropped[:, [0, 2]] == 5).all()
    assert 0.28 < float((dropped[:, 1] == 0).float().mean()) < 0.32
    assert drop_codes(codes, 1, 0.0, torch.Generator()) is codes
    assert (codes == 5).all()


def test_the_users_vector_ends_in_one_so_that_an_items_last_number_is_its_bias() -> None:
    towers = TwoTower(SHAPE, TowerOptions(dim=8, id_dim=4, category_dim=3, hidden=(16,))).eval()
    inputs = batch(5)
    user = towers.user(inputs["request_dense"], inputs["request_ids"])
    item = towers.item(inputs["item_ids"], None)
    assert user.shape == item.shape == (5, 8)
    assert (user[:, -1] == 1).all()
    torch.testing.assert_close((user * item).sum(1), (user[:, :-1] * item[:, :-1]).sum(1) + item[:, -1])


def objective(**changes: object) -> TowerObjective:
    """Towers whose vectors are the codes' own: user m has vector e_m, item i has row i of MATRIX."""
    request = {"request_dense": np.eye(4, dtype=np.float32), "request_ids": np.zeros((4, 1), np.int32)}
    items = {"item_ids": np.arange(6, dtype=np.int32)[:, None]}
    matrix = torch.from_numpy(MATRIX)
    model = SimpleNamespace(user=lambda numbers, codes: numbers, item=lambda codes, numbers: matrix[codes[:, 0]])
    fields = {
        "model": model,
        "inputs": InputTensors.of(request, items),
        "training": Positives(np.array([0, 1, 2, 3]), np.array([0, 1, 2, 2])),
        "validation": Positives(np.array([0]), np.array([0])),
        "chance": np.array([0.25, 0.25, 0.5, 0.0, 0.0, 0.0]),
        "prior": np.log(np.array([0.3, 0.1, 0.2, 0.2, 0.1, 0.1])).astype(np.float32),
        "teacher": None,
        "batch": 4,
        "uniform": 0,
        "distil": 0.5,
        "drop": 0.0,
    }
    return TowerObjective(**{**fields, **changes})


MATRIX = np.random.default_rng(3).standard_normal((6, 4)).astype(np.float32)


def test_the_softmax_is_corrected_for_how_likely_negatives_are_and_for_exposure() -> None:
    made = objective()
    loss = float(made.loss(np.arange(4), torch.Generator().manual_seed(0)))
    item = made.training.item
    scores = MATRIX[item].T + made.prior[item] - np.log(4 * made.chance[item])
    again = item[None, :] == item[:, None]
    np.fill_diagonal(again, False)
    scores[again] = -np.inf
    expected = np.log(np.exp(scores).sum(axis=1)) - np.diag(scores)
    assert loss == pytest.approx(expected.mean(), rel=1e-5)


def test_towers_learn_the_rankers_share_of_each_list() -> None:
    worth = np.array([3.0, 1.0, 2.0, 2.0])
    lists = TeacherLists.of(np.array([1, 2]), np.array([[0, 5], [3, 4]]), worth)
    np.testing.assert_allclose(lists.target, [[0.75, 0.25], [0.5, 0.5]])
    made = objective(_lists=lists)
    plain = float(objective().loss(np.arange(4), torch.Generator().manual_seed(0)))
    added = float(made.loss(np.arange(4), torch.Generator().manual_seed(0))) - plain
    each = [
        -(target * torch.log_softmax(torch.from_numpy(MATRIX[items, moment]), 0).numpy()).sum()
        for moment, items, target in zip(lists.moment, lists.items, lists.target, strict=True)
    ]
    assert 0.5 * min(each) - 1e-5 <= added <= 0.5 * max(each) + 1e-5


def test_hard_items_are_found_by_their_place_in_the_towers_order() -> None:
    made = objective()
    moments = np.array([3, 0])
    order = np.argsort(-MATRIX[:, moments].T, axis=1)
    places = np.array([[0, 5, 2], [4, 0, 0]])
    expected = np.take_along_axis(order, places, axis=1)
    np.testing.assert_array_equal(items_at(places, made.model, made.inputs, moments), expected)


def test_a_label_that_is_missing_or_weighs_nothing_teaches_nothing() -> None:
    logits = torch.randn(4, 2, requires_grad=True)
    labels = torch.tensor([[1.0, torch.nan], [0.0, 1.0], [1.0, 0.0], [0.0, torch.nan]])
    loss = cross_entropy(logits, labels, torch.tensor([1.0, 2.0, 0.0, 1.0]))
    p = torch.sigmoid(logits.detach()).double()
    first = -(p[0, 0].log() + 2 * (1 - p[1, 0]).log() + (1 - p[3, 0]).log()) / 4
    second = -(2 * p[1, 1].log()) / 2
    assert float(loss.detach()) == pytest.approx(float(first + second), rel=1e-5)
    loss.backward()
    assert (logits.grad[[0, 3], 1] == 0).all()
    assert (logits.grad[2] == 0).all()


def test_weighted_draws_count_as_uniform_ones() -> None:
    sampler = NegativeSampler(np.array([0, 1, 4, 95]), popular_share=0.6)
    items, weights = sampler.draw(200_000, np.random.default_rng(0))
    assert sampler.probabilities.sum() == pytest.approx(1)
    assert weights.max() <= 1 / 0.4 + 1e-6
    per_item = np.bincount(items, weights, minlength=4) / len(items)
    np.testing.assert_allclose(per_item, 0.25, atol=0.005)
    assert NegativeSampler(np.array([0, 0]), popular_share=0.6).probabilities.tolist() == [0.5, 0.5]


def test_negatives_stand_at_the_moment_of_their_positive() -> None:
    labels = np.array([[1, 1], [0, 0], [1, np.nan]], dtype=np.float32)
    rows = Rows(moment=np.array([0, 2, 5]), item=np.array([7, 8, 0]), labels=labels, weights=np.ones(3, np.float32))
    sampler = NegativeSampler(np.ones(10, np.int64), popular_share=0.5)
    both = with_negatives(rows, sampler, drawn=3, positive=0, generator=np.random.default_rng(4))
    assert both.moment.tolist() == [0, 0, 0, 0, 2, 5, 5, 5, 5]
    drawn = np.flatnonzero((both.labels[:, 0] == 0) & (both.moment != 2))
    assert len(drawn) == 6
    assert np.isnan(both.labels[drawn, 1]).all(), "a task that some rows lack is none of theirs"
    own = np.where(both.moment == 0, 7, 0)
    assert (both.weights[drawn] == (both.item != own)[drawn]).all()


def test_the_correction_gives_the_odds_of_all_negatives() -> None:
    p, rate = np.array([0.5, 0.9]), np.array([0.01, 0.5])
    q = corrected(p, rate)
    np.testing.assert_allclose(q / (1 - q), rate * p / (1 - p))


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from([0.0, 1.0, float("nan")]), st.integers(0, 5)), max_size=25))
def test_auc_is_the_share_of_pairs_in_order(rows: list[tuple[float, int]]) -> None:
    labels = np.array([label for label, _ in rows])
    scores = np.array([score for _, score in rows])
    pairs = [(a > b) + 0.5 * (a == b) for a in scores[labels == 1] for b in scores[labels == 0]]
    if pairs:
        assert auc(labels, scores) == pytest.approx(np.mean(pairs))
    else:
        assert np.isnan(auc(labels, scores))


def test_recall_counts_targets_with_fewer_than_k_above() -> None:
    scores = np.array([[3, 2, 1], [3, 2, 1]], dtype=np.float32)
    assert [recall_at(scores, np.array([1, 2]), k) for k in (1, 2, 3)] == [0.0, 0.5, 1.0]


def test_a_model_takes_the_numbers_of_items_where_there_are_any() -> None:
    with_numbers = replace(SHAPE, inputs={**SHAPE.inputs, "item_dense": dense("item_dense", "item", "item", 2)})
    model = Ranker(with_numbers, 3, RankerOptions()).eval()
    inputs = {**batch(4), "item_dense": torch.randn(4, 2)}
    moved = {**inputs, "item_dense": inputs["item_dense"] + 1}
    assert model(**inputs).shape == (4, 3)
    assert not torch.equal(model(**inputs), model(**moved))
