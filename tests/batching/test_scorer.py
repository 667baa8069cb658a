"""One query's candidates are scored from raw features, in their order, whatever company they have."""

import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from tiny_model import KINDS, expected, spec_of, write_version

from navi.batching.batch_policy import BatchPolicy
from navi.batching.item_inputs import ItemInputs
from navi.batching.scorer import Scorer, ScoringRequest
from navi.core.arrays import Array
from navi.core.column import Column
from navi.core.deadline import Deadline
from navi.core.errors import DeadlineExceeded, InvalidArgument, ModelError, Unavailable
from navi.features.encoder import Encoder
from navi.features.inputs import Age, InputSpec, Numeric
from navi.features.item_table import ItemTable
from navi.features.item_table_writer import write_item_table
from navi.models.backend import Signature
from navi.models.fake_backend import FakeBackend
from navi.models.loader import LoadedModel, load_model
from navi.models.options import ModelOptions
from navi.models.spec import ModelSpec, OutputSpec

ITEMS = {
    "id": [10, 20, 30, 40, 50],
    "kind": ["news", "sport", "music", None, "opera"],
    "price": [0.5, 1.0, 99.0, 5.0, None],
}
KIND_CODES = [1, 2, 3, 0, 0]
PRICE_CODES = [1, 2, 3, 2, 0]
POLICY = BatchPolicy(max_rows=256)


def table_of(path: Path, columns: Mapping[str, object]) -> ItemTable:
    write_item_table(pa.table(columns), path, key="id")
    return ItemTable.open(path)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> ItemTable:
    return table_of(tmp_path_factory.mktemp("table") / "items.arrow", ITEMS)


@pytest.fixture(scope="module")
def scorer(tmp_path_factory: pytest.TempPathFactory, table: ItemTable) -> Iterator[Scorer]:
    model = load_model(write_version(tmp_path_factory.mktemp("model")), ModelOptions())
    scorer = Scorer(model, table, POLICY)
    yield scorer
    scorer.close()


def text(*values: str) -> Array:
    return np.array(values, dtype=object)


USER = {"age": np.array([50.0], np.float32), "liked": text("news", "news", "music", "opera")}
FEATURES = {"hour": Column(np.array([12], dtype=np.int64))}
LIKES = {"news": 0.5, "music": 0.25, "opera": 0.25}


def request(user: Mapping[str, Array] = USER, features: Mapping[str, Column] = FEATURES) -> ScoringRequest:
    return ScoringRequest(user=user, features=features, as_of=0.0, deadline=Deadline.after(60))


def probabilities(user: list[float], kind: list[list[int]], pair: list[list[float]]) -> dict[str, Array]:
    """By hand: what the model makes of encoded inputs, buy corrected for negatives kept at 0.25."""
    inputs = {
        "user": np.tile(np.array([user], np.float32), (len(kind), 1)),
        "kind": np.array(kind),
        "pair": np.array(pair, np.float32),
    }
    p = 1 / (1 + np.exp(-expected(inputs).astype(np.float64)))
    return {"click": p[:, 0], "buy": p[:, 1] * 0.25 / (1 - p[:, 1] + 0.25 * p[:, 1])}


def by_hand(rows: list[int], bids: list[float] | None = None) -> dict[str, Array]:
    kinds = [ITEMS["kind"][row] for row in rows]
    return probabilities(
        [1.0, 0.5],
        [[KIND_CODES[row], PRICE_CODES[row]] for row in rows],
        [[LIKES.get(kind, 0.0), bid] for kind, bid in zip(kinds, bids or [0.0] * len(rows), strict=True)],
    )


def assert_same(found: Mapping[str, Array], wanted: Mapping[str, Array]) -> None:
    assert list(found) == list(wanted)
    for task, values in wanted.items():
        assert found[task].dtype == np.float32
        np.testing.assert_allclose(found[task], values, atol=2e-6)


def test_scores_are_the_models_in_the_order_asked_for(scorer: Scorer) -> None:
    rows = [3, 0, 4, 0, 2, 1]
    assert_same(scorer.score(request(), np.array(rows)), by_hand(rows))


def test_a_scorer_says_what_it_is(scorer: Scorer) -> None:
    assert (scorer.name, scorer.version, scorer.tasks, scorer.provider) == ("tiny", "3", ("click", "buy"), "cpu")
    assert scorer.row_independent
    assert scorer.request_features == {"hour"}
    assert len(scorer.digest) == 64


def test_no_candidates_are_no_run(scorer: Scorer) -> None:
    before = scorer.stats.batches
    scores = scorer.score(request(), np.empty(0, dtype=np.int64))
    assert {task: values.shape for task, values in scores.items()} == {"click": (0,), "buy": (0,)}
    assert scorer.stats.batches == before


def test_an_unknown_user_is_one_of_whom_all_is_missing(scorer: Scorer) -> None:
    found = scorer.score(request(user={}, features={}), np.array([0, 1]))
    assert_same(found, probabilities([0.0, 0.0], [[1, 1], [2, 2]], [[0, 0], [0, 0]]))


def test_an_unknown_item_is_one_of_which_all_is_missing(scorer: Scorer) -> None:
    found = scorer.score(request(), np.array([0, -1, 4, -1]))
    assert_same(
        found, probabilities([1.0, 0.5], [[1, 1], [0, 0], [0, 0], [0, 0]], [[0.5, 0], [0, 0], [0.25, 0], [0, 0]])
    )
    alone = scorer.score(request(), np.array([-1]))
    np.testing.assert_allclose(alone["click"], found["click"][[1]], rtol=1e-5)


def test_a_pair_feature_is_given_by_its_bare_name(scorer: Scorer) -> None:
    bids = Column(np.array([0.5, 2.0], np.float32))
    assert_same(scorer.score(request(), np.array([1, 1]), {"bid": bids}), by_hand([1, 1], [0.5, 2.0]))


def test_a_column_named_like_an_item_feature_replaces_it_for_these_candidates(scorer: Scorer) -> None:
    kinds = Column(text("music", "news", "tennis"), valid=np.array([True, False, True]))
    found = scorer.score(request(), np.array([0, 0, -1]), {"kind": kinds})
    assert_same(found, probabilities([1.0, 0.5], [[3, 1], [0, 1], [0, 0]], [[0.25, 0], [0, 0], [0, 0]]))
    assert_same(scorer.score(request(), np.array([0])), by_hand([0]))


@pytest.mark.parametrize(
    ("columns", "field"),
    [
        ({"colour": Column(np.zeros(2, np.float32))}, "columns.colour"),
        ({"bid": Column(np.zeros(3, np.float32))}, "columns.bid"),
        ({"bid": Column(text("a", "b"))}, "pair.bid"),
        ({"bid": Column(np.array([1, np.nan], np.float32))}, "pair.bid"),
        ({"kind": Column(np.zeros(2, np.int64))}, "item.kind"),
        ({"age": Column(np.zeros(2, np.float32))}, "columns.age"),
    ],
)
def test_a_column_that_does_not_fit_is_named(scorer: Scorer, columns: Mapping[str, Column], field: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        scorer.score(request(), np.array([0, 1]), columns)
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("column", "field"),
    [
        (Column(np.zeros(2, np.int64)), "features.hour"),
        (Column(text("noon")), "request.hour"),
        (Column(np.zeros((1, 3), np.float32)), "request.hour"),
        (Column(np.array([np.inf], np.float32)), "request.hour"),
    ],
)
def test_a_request_feature_that_does_not_fit_is_named(scorer: Scorer, column: Column, field: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        scorer.score(request(features={"hour": column}), np.array([0, 1]))
    assert caught.value.field == field


def test_a_request_feature_of_another_model_is_ignored(scorer: Scorer) -> None:
    features = {**FEATURES, "weather": Column(text("rain"))}
    assert_same(scorer.score(request(features=features), np.array([2])), by_hand([2]))


def test_a_candidates_score_does_not_depend_on_its_company(scorer: Scorer) -> None:
    """Alone, shuffled, and among the rows of other requests: logits to 1e-5."""
    random = np.random.default_rng(3)
    rows = random.integers(0, 5, 40)
    together = logits(scorer.score(request(), rows)["click"])
    order = random.permutation(40)
    shuffled = logits(scorer.score(request(), rows[order])["click"])
    alone = np.concatenate([logits(scorer.score(request(), rows[[at]])["click"]) for at in range(40)])
    with ThreadPoolExecutor(8) as pool:
        crowd = [pool.submit(scorer.score, request({}, {}), random.integers(0, 5, 30)) for _ in range(20)]
        mine = [pool.submit(scorer.score, request(), rows) for _ in range(20)]
        for each in crowd:
            each.result()
        for each in mine:
            assert np.abs(logits(each.result()["click"]) - together).max() <= 1e-5
    assert np.abs(shuffled - together[order]).max() <= 1e-5
    assert np.abs(alone - together).max() <= 1e-5


def logits(probabilities: Array) -> Array:
    p = probabilities.astype(np.float64)
    return np.log(p / (1 - p))


def test_the_deadline_of_the_request_holds(scorer: Scorer) -> None:
    late = ScoringRequest(user=USER, features=FEATURES, as_of=0.0, deadline=Deadline.after(0))
    with pytest.raises(DeadlineExceeded):
        scorer.score(late, np.array([0]))


Model = Callable[[Mapping[str, Array]], dict[str, Array]]

AGE = Age(name="age", feature="item.created")


def fake_model(spec: ModelSpec, fn: Model, difference: float = 0.0) -> LoadedModel:
    encoder = Encoder(spec.inputs, {"kinds": KINDS})
    return LoadedModel(spec, FakeBackend(Signature((), ()), fn), encoder, "digest", difference, "fake")


def test_requests_do_not_share_a_run_of_a_model_that_is_not_row_independent(table: ItemTable) -> None:
    go, sizes = threading.Event(), []

    def fn(inputs: Mapping[str, Array]) -> dict[str, Array]:
        assert go.wait(30)
        sizes.append(len(inputs["kind"]))
        return {"logits": np.zeros((len(inputs["kind"]), 2), np.float32)}

    scorer = Scorer(fake_model(spec_of(), fn, difference=0.5), table, POLICY)
    assert not scorer.row_independent
    with ThreadPoolExecutor(6) as pool:
        calls = [pool.submit(scorer.score, request(), np.zeros(3, np.int64)) for _ in range(6)]
        while scorer.stats.queued < 5:
            threading.Event().wait(0.001)
        go.set()
        for each in calls:
            each.result()
    assert sizes == [3] * 6
    scorer.close()
    with pytest.raises(Unavailable):
        scorer.score(request(), np.zeros(3, np.int64))


def user_tower() -> ModelSpec:
    age = InputSpec(name="user", scope="request", dtype="float32", features=(Numeric(name="age", feature="user.age"),))
    vector = OutputSpec(name="vector", kind="vector")
    return spec_of(inputs=(age,), outputs=(vector,), vocabularies={})


def test_a_user_tower_makes_a_vector_of_the_request_alone() -> None:
    scorer = Scorer(
        fake_model(user_tower(), lambda inputs: {"vector": inputs["user"] * np.ones(4, np.float32)}), None, POLICY
    )
    assert scorer.vector(request()).tolist() == [50.0] * 4
    assert scorer.tasks == ()
    assert scorer.score(request(), np.array([0, 1])) == {}
    scorer.close()


def test_a_model_of_candidates_makes_no_user_vector(scorer: Scorer) -> None:
    with pytest.raises(ModelError, match="makes no vector of a request alone"):
        scorer.vector(request())


def test_as_of_is_the_time_by_which_age_is_judged(tmp_path: Path) -> None:
    day = 86_400
    table = table_of(tmp_path / "items.arrow", {"id": [1, 2], "created": pa.array([0, 5 * day], pa.int64())})
    pair = InputSpec(name="pair", scope="pair", dtype="float32", features=(AGE,))
    spec = spec_of(inputs=(pair,), outputs=(OutputSpec(name="y", kind="score", tasks=("age",)),), vocabularies={})
    scorer = Scorer(fake_model(spec, lambda inputs: {"y": inputs["pair"]}), table, POLICY)
    asked = ScoringRequest(user={}, features={}, as_of=6.0 * day, deadline=Deadline.never())
    np.testing.assert_allclose(scorer.score(asked, np.array([0, 1]))["age"], np.log1p([6, 1]), rtol=1e-6)
    scorer.close()


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (None, "reads item.kind, and no item table is configured"),
        ({"id": [1], "kind": ["news"]}, "reads item.price, and the item table has no column 'price'"),
        ({"id": [1], "kind": [7], "price": [1.0]}, "does not fit the model: item.kind: is int64, where string"),
        ({"id": [1], "kind": ["news"], "price": [[1.0]]}, "does not fit the model: item.price: has rows of different"),
    ],
)
def test_a_table_that_lacks_what_the_model_reads_is_refused_at_once(
    tmp_path: Path, columns: Mapping[str, object] | None, message: str
) -> None:
    table = None if columns is None else table_of(tmp_path / "items.arrow", columns)
    with pytest.raises(ModelError) as caught:
        Scorer(fake_model(spec_of(), lambda _: {}), table, POLICY)
    assert message in str(caught.value)


def test_a_large_table_is_encoded_row_by_row_the_same(tmp_path: Path) -> None:
    n = 70_001
    price = (np.arange(n) % 17).astype(np.float32)
    kinds = np.array(["news", "sport", "music", "opera"], dtype=object)[np.arange(n) % 4]
    table = table_of(tmp_path / "items.arrow", {"id": np.arange(n), "kind": kinds, "price": price})
    encoder = Encoder(spec_of().inputs, {"kinds": KINDS})
    inputs = ItemInputs.of(encoder, table)
    rows = np.array([0, 65_535, 65_536, 70_000, -1, 12_345])
    kind = inputs.at(rows, {})["kind"]
    codes = np.where(rows % 4 == 3, 0, rows % 4 + 1)
    assert kind[:, 0].tolist() == np.where(rows < 0, 0, codes).tolist()
    assert kind[:, 1].tolist() == np.where(rows < 0, 0, np.digitize(rows % 17, [1, 10]) + 1).tolist()
