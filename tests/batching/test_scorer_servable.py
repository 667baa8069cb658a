"""A pipeline's model answers tensors too: ids stand for items, and wrong inputs are refused by name."""

import re
import threading

import numpy as np
import pyarrow as pa
import pytest
from tiny_model import expected, write_version

from navi.batching.batch_policy import BatchPolicy
from navi.batching.scorer import Scorer
from navi.batching.scorer_servable import ScorerServable
from navi.core.deadline import Deadline
from navi.core.errors import DeadlineExceeded, InvalidArgument, NotFound
from navi.core.priority import Priority
from navi.features.item_table import ItemTable
from navi.features.item_table_writer import write_item_table
from navi.models.loader import load_model
from navi.models.options import ModelOptions

KINDS = [[1, 1], [2, 2], [3, 3], [0, 2], [0, 0]]
COLUMNS = {"kind": ["news", "sport", "music", None, "opera"], "price": [0.5, 1.0, 99.0, 5.0, None]}
USER = np.array([[0.5, -1.0]], np.float32)


@pytest.fixture(scope="module")
def scorers(tmp_path_factory: pytest.TempPathFactory):
    model = load_model(write_version(tmp_path_factory.mktemp("model")), ModelOptions())
    made = {}
    for name, ids in (("numbers", [10, 20, 30, 40, 50]), ("texts", ["a", "b", "c", "d", "é"])):
        path = tmp_path_factory.mktemp("table") / "items.arrow"
        write_item_table(pa.table({"id": ids, **COLUMNS}), path, key="id")
        made[name] = Scorer(model, ItemTable.open(path), BatchPolicy(max_rows=4))
    yield made
    for scorer in made.values():
        scorer.close()


@pytest.fixture(scope="module")
def servable(scorers):
    return ScorerServable.of(scorers["numbers"])


def run(servable, deadline=None, **inputs):
    return servable.run(inputs, deadline or Deadline.after(60), Priority.ORGANIC)["logits"]


def by_hand(items, user=USER, pair=None):
    n = len(items)
    users = np.broadcast_to(user, (n, 2))
    return expected({"user": users, "kind": np.array([KINDS[item] for item in items]), "pair": pair_of(n, pair)})


def pair_of(n, pair=None):
    return np.zeros((n, 2), np.float32) if pair is None else pair


def test_a_servable_says_what_it_is(servable, scorers):
    assert (servable.name, servable.version, servable.platform, servable.max_rows) == ("tiny", 3, "onnxruntime_onnx", 4)
    assert [spec.name for spec in servable.signature.inputs] == ["user", "kind", "pair"]
    assert servable.resident == {"kind"}
    assert (servable.item_id.dtype, ScorerServable.of(scorers["texts"]).item_id.dtype) == (np.int64, object)


def test_all_inputs_may_be_given_row_by_row(servable):
    users = np.array([[0.0, 1.0], [2.0, 3.0]], np.float32)
    found = run(servable, user=users, kind=np.array([KINDS[0], KINDS[2]]), pair=pair_of(2))
    np.testing.assert_allclose(found, by_hand([0, 2], users), rtol=1e-5)


def test_a_request_input_of_one_row_holds_for_all(servable):
    found = run(servable, user=USER, kind=np.array(KINDS), pair=pair_of(5))
    np.testing.assert_allclose(found, by_hand([0, 1, 2, 3, 4]), rtol=1e-5)


@pytest.mark.parametrize("ids", [np.array([30, 10]), np.array([[30], [10]]), np.array([30, 10], np.int32)])
def test_ids_stand_for_the_items_inputs(servable, ids):
    found = run(servable, user=USER, item_id=ids, pair=pair_of(2))
    np.testing.assert_allclose(found, by_hand([2, 0]), rtol=1e-5)


def test_ids_may_be_text(scorers):
    ids = np.array(["é", "b"], object)
    found = run(ScorerServable.of(scorers["texts"]), user=USER, item_id=ids, pair=pair_of(2))
    np.testing.assert_allclose(found, by_hand([4, 1]), rtol=1e-5)


def test_an_unknown_item_is_not_found(servable):
    with pytest.raises(NotFound, match="item 31 is not known"):
        run(servable, user=USER, item_id=np.array([30, 31]), pair=pair_of(2))


@pytest.mark.parametrize(
    ("inputs", "text"),
    [
        ({"user": USER, "pair": pair_of(1)}, "inputs[kind]: is missing, and so is item_id"),
        ({"user": USER, "item_id": np.array([10])}, "inputs[pair]: is missing"),
        (
            {"user": USER, "pair": pair_of(1), "item_id": np.array([10]), "kind": np.array([[1, 1]])},
            "inputs[kind]: is given, where item_id stands for it",
        ),
        (
            {"user": USER, "pair": pair_of(1), "kind": np.array([[1, 1]]), "mood": USER},
            "inputs[mood]: is not known; known: kind, pair, user, item_id",
        ),
        (
            {"user": USER.astype(np.float64), "pair": pair_of(1), "item_id": np.array([10])},
            "inputs[user]: is float64 [1, 2], where float32 [rows, 2] is expected",
        ),
        (
            {"user": USER[0], "pair": pair_of(1), "item_id": np.array([10])},
            "inputs[user]: is float32 [2], where float32 [rows, 2] is expected",
        ),
        (
            {"user": USER, "pair": pair_of(3), "item_id": np.array([10, 20])},
            "inputs: have different numbers of rows: kind 2, pair 3",
        ),
        (
            {"user": np.zeros((2, 2), np.float32), "pair": pair_of(3), "item_id": np.array([10, 20, 30])},
            "inputs[user]: has 2 rows, where 1 or 3 are expected",
        ),
        (
            {"user": USER, "pair": pair_of(1), "item_id": np.array(["10"], object)},
            "inputs[item_id]: has text, where the table's ids are integers",
        ),
        (
            {"user": USER, "pair": pair_of(1), "item_id": np.array([10.0])},
            "inputs[item_id]: is float64, where int64 or text is expected",
        ),
        (
            {"user": USER, "pair": pair_of(1), "item_id": np.array([[10, 20]])},
            "inputs[item_id]: is [1, 2], where [rows] or [rows, 1] is expected",
        ),
    ],
)
def test_wrong_inputs_are_refused_by_name(servable, inputs, text):
    with pytest.raises(InvalidArgument, match=f"^{re.escape(text)}$"):
        run(servable, **inputs)


def test_no_rows_give_no_rows(servable):
    found = run(servable, user=USER, item_id=np.empty(0, np.int64), pair=pair_of(0))
    assert found.shape == (0, 2)


def test_a_call_larger_than_the_row_budget_is_run_whole(servable):
    found = run(servable, user=USER, kind=np.array(KINDS * 3), pair=pair_of(15))
    np.testing.assert_allclose(found, by_hand([0, 1, 2, 3, 4] * 3), rtol=1e-5)


def test_a_late_call_is_not_run(servable):
    with pytest.raises(DeadlineExceeded):
        run(servable, Deadline.after(0), user=USER, item_id=np.array([10]), pair=pair_of(1))


def test_calls_in_company_get_their_own_rows(servable):
    """Calls of every form at once: rows counted right, answers not shifted, no two calls mixed up."""
    wrong = []

    def ask(seed):
        random = np.random.default_rng(seed)
        for _ in range(40):
            n = int(random.integers(1, 7))
            items = random.integers(0, 5, n).tolist()
            pair = random.random((n, 2)).astype(np.float32)
            user = random.standard_normal((n if random.random() < 0.5 else 1, 2)).astype(np.float32)
            by_id = {"item_id": np.array([10 * item + 10 for item in items])}
            given = by_id if random.random() < 0.5 else {"kind": np.array([KINDS[item] for item in items])}
            found = run(servable, user=user, pair=pair, **given)
            if not np.allclose(found, by_hand(items, user, pair), rtol=1e-4, atol=1e-5):
                wrong.append((seed, items))

    threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not wrong
    assert servable.stats.rerun == 0
