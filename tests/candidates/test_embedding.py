"""Retrieval by vectors: exact equals the reference, approximate finds most of it, and vectors of others are refused."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from candidates.context import Context
from candidates.embedding import embedding
from candidates.parts import Parts
from candidates.user_vector import user_vector
from candidates.vector_index import VectorIndex, build_index
from navi.batching.batch_policy import BatchPolicy
from navi.batching.scorer import Scorer
from navi.core.arrays import F32, Array
from navi.core.errors import BackendError, BundleError, ConfigError
from navi.features.encoder import Encoder
from navi.features.inputs import InputSpec, Numeric
from navi.features.item_table import ItemTable
from navi.features.item_vectors import ItemVectors, write_item_vectors
from navi.models.backend import Signature, TensorSpec
from navi.models.fake_backend import FakeBackend
from navi.models.loader import LoadedModel
from navi.models.spec import ModelSpec, OutputSpec
from navi.ops import reference

ITEMS, WIDTH = 3_000, 8


class Tower:
    """A two-tower model's user side: the vector is the user's `taste`, NaN where that is large; `runs` counts."""

    def __init__(self) -> None:
        self.runs = 0

    def __call__(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        self.runs += 1
        taste = inputs["user"]
        return {"vector": np.where(np.abs(taste) > 1_000, np.float32(np.nan), taste)}


@pytest.fixture
def tower() -> Tower:
    return Tower()


@pytest.fixture
def scorer(tower: Tower) -> Iterator[Scorer]:
    taste = Numeric(name="taste", feature="user.taste", width=WIDTH)
    spec = ModelSpec(
        name="tower",
        version=1,
        files={"onnx": "model.onnx"},
        inputs=(InputSpec(name="user", scope="request", dtype="float32", features=(taste,)),),
        outputs=(OutputSpec(name="vector", kind="vector"),),
    )
    tensor = TensorSpec("user", np.dtype(np.float32), (None, WIDTH))
    backend = FakeBackend(Signature((tensor,), (replace(tensor, name="vector"),)), tower)
    model = LoadedModel(spec, backend, Encoder(spec.inputs, {}), "model-1", 0.0, "fake")
    scorer = Scorer(model, None, BatchPolicy(max_rows=8))
    yield scorer
    scorer.close()


@pytest.fixture(scope="module")
def table(make_table: Callable[..., ItemTable]) -> ItemTable:
    return make_table({"id": list(range(ITEMS))})


@pytest.fixture(scope="module")
def vectors(table: ItemTable, tmp_path_factory: pytest.TempPathFactory) -> ItemVectors:
    matrix = np.random.default_rng(1).normal(size=(ITEMS, WIDTH)).astype(np.float32)
    matrix[7] = matrix[5]  # a tie
    path = tmp_path_factory.mktemp("vectors") / "items.arrow"
    write_item_vectors(path, matrix, table_digest=table.digest, model_digest="model-1")
    return ItemVectors.open(path)


@pytest.fixture
def parts(table: ItemTable, vectors: ItemVectors, scorer: Scorer, make_parts: Callable[..., Parts]) -> Parts:
    made = make_parts(table)
    made.bundle.scorers = {"tower": scorer}
    made.bundle.item_vectors = {"items": vectors}
    return made


@pytest.fixture(scope="module")
def queries() -> F32:
    return np.random.default_rng(2).normal(size=(20, WIDTH)).astype(np.float32)


def test_exact_retrieval_equals_the_reference(
    parts: Parts, vectors: ItemVectors, queries: F32, make_context: Callable[..., Context]
) -> None:
    source = embedding(parts, model="tower", vectors="items")
    for query in queries:
        found = source.fetch(make_context(parts.table, user={"taste": query}), 50)
        rows, scores = reference.gather_dot_top_k(vectors.matrix, None, query, 50)
        assert set(found.rows.tolist()) == set(rows.tolist())
        np.testing.assert_allclose(found.scores, scores, rtol=1e-5, atol=1e-6)


def test_equal_vectors_come_in_row_order(
    parts: Parts, vectors: ItemVectors, make_context: Callable[..., Context]
) -> None:
    source = embedding(parts, model="tower", vectors="items")
    found = source.fetch(make_context(parts.table, user={"taste": vectors.matrix[5]}), 2_999)
    places = found.rows.tolist()
    assert places.index(7) == places.index(5) + 1


def test_the_approximate_method_finds_most_and_scores_as_the_exact_one(
    parts: Parts, vectors: ItemVectors, queries: F32, make_context: Callable[..., Context]
) -> None:
    info = build_index(vectors, queries, parts.path("items.ivf"), recall=0.9, depth=100)
    exact = embedding(parts, model="tower", vectors="items")
    approximate = embedding(parts, model="tower", vectors="items", method="approximate", index="items.ivf")
    shares = []
    for query in queries:
        context = make_context(parts.table, user={"taste": query})
        best, found = exact.fetch(context, 100), approximate.fetch(context, 100)
        scores = dict(zip(best.rows.tolist(), best.scores.tolist(), strict=True))
        common = [
            (row, score) for row, score in zip(found.rows.tolist(), found.scores.tolist(), strict=True) if row in scores
        ]
        assert all(scores[row] == score for row, score in common)
        assert (np.diff(found.scores) <= 0).all()
        assert len(set(found.rows.tolist())) == len(found.rows)
        shares.append(len(common) / 100)
    assert np.mean(shares) == pytest.approx(info.recall)
    assert info.recall >= 0.9
    assert info.probes < info.lists


def test_the_users_vector_is_made_once_a_query(
    parts: Parts, scorer: Scorer, tower: Tower, queries: F32, make_context: Callable[..., Context]
) -> None:
    context = make_context(parts.table, user={"taste": queries[0]})
    embedding(parts, model="tower", vectors="items").fetch(context, 5)
    np.testing.assert_array_equal(user_vector(context, scorer), queries[0])
    assert tower.runs == 1


def test_an_unknown_user_gets_nothing_and_costs_nothing(
    parts: Parts, tower: Tower, make_context: Callable[..., Context]
) -> None:
    assert len(embedding(parts, model="tower", vectors="items").fetch(make_context(parts.table), 5).rows) == 0
    assert tower.runs == 0


def test_a_user_vector_that_is_not_finite_is_an_error(
    parts: Parts, scorer: Scorer, make_context: Callable[..., Context]
) -> None:
    taste = np.full(WIDTH, 2_000, dtype=np.float32)
    with pytest.raises(BackendError, match=r"'tower'.*not finite"):
        user_vector(make_context(parts.table, user={"taste": taste}), scorer)


@pytest.mark.parametrize(
    ("change", "says"), [({"table_digest": "other"}, "^vectors: "), ({"model_digest": "other"}, "^model: ")]
)
def test_vectors_of_another_table_or_model_are_refused(
    parts: Parts, vectors: ItemVectors, change: dict[str, Any], says: str
) -> None:
    parts.bundle.item_vectors = {"items": replace(vectors, **change)}
    with pytest.raises(ConfigError, match=says):
        embedding(parts, model="tower", vectors="items")


def test_an_index_goes_with_the_approximate_method_only(parts: Parts) -> None:
    for options in ({"method": "approximate"}, {"index": "items.ivf"}):
        with pytest.raises(ConfigError, match=r"^index: "):
            embedding(parts, model="tower", vectors="items", **options)  # type: ignore[arg-type]


def test_an_index_of_other_vectors_or_a_damaged_one_is_refused(
    vectors: ItemVectors, queries: F32, tmp_path: Path
) -> None:
    path = tmp_path / "items.ivf"
    build_index(vectors, queries, path)
    VectorIndex.open(path, vectors)
    for other in (replace(vectors, table_digest="other"), replace(vectors, model_digest="other")):
        with pytest.raises(BundleError, match="another table or model"):
            VectorIndex.open(path, other)
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(BundleError, match="is not the index"):
        VectorIndex.open(path, vectors)
    path.unlink()
    with pytest.raises(BundleError, match="cannot be read"):
        VectorIndex.open(path, vectors)


def test_an_index_that_says_nonsense_of_itself_is_refused(vectors: ItemVectors, queries: F32, tmp_path: Path) -> None:
    path = tmp_path / "items.ivf"
    build_index(vectors, queries, path)
    (tmp_path / "items.ivf.json").write_text('{"rows": "many"}')
    with pytest.raises(BundleError, match="cannot be read"):
        VectorIndex.open(path, vectors)


def test_a_build_is_repeatable(vectors: ItemVectors, queries: F32, tmp_path: Path) -> None:
    first, second = (build_index(vectors, queries, tmp_path / name) for name in ("a", "b"))
    assert first == second


def test_reading_every_list_finds_everything(vectors: ItemVectors, queries: F32, tmp_path: Path) -> None:
    info = build_index(vectors, queries, tmp_path / "items.ivf", recall=1.0, depth=ITEMS)
    assert (info.recall, info.probes) == (1.0, info.lists)
    found = VectorIndex.open(tmp_path / "items.ivf", vectors).search(queries[0], ITEMS)
    assert sorted(found.tolist()) == list(range(ITEMS))


def test_a_handful_of_vectors_can_be_indexed(table: ItemTable, queries: F32, tmp_path: Path) -> None:
    few = ItemVectors(queries[:3], table.digest, "model-1")
    assert build_index(few, queries, tmp_path / "few.ivf").recall == 1.0
    with pytest.raises(BundleError, match="needs vectors"):
        build_index(ItemVectors(queries[:0], table.digest, "model-1"), queries, tmp_path / "none.ivf")


def test_an_index_narrower_than_the_quota_gives_what_it_finds(
    parts: Parts, vectors: ItemVectors, queries: F32, make_context: Callable[..., Context]
) -> None:
    assert build_index(vectors, queries, parts.path("narrow.ivf"), recall=0.01).probes == 1
    source = embedding(parts, model="tower", vectors="items", method="approximate", index="narrow.ivf")
    found = source.fetch(make_context(parts.table, user={"taste": queries[0]}), ITEMS)
    assert 0 < len(found.rows) < ITEMS
