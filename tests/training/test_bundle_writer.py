"""A trained bundle: complete, consistent with the trainer, and put in place all at once."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from navi.bundle.bundle import Bundle
from navi.bundle.config import read_config
from navi.core.column import Column
from navi.core.deadline import Deadline
from navi.core.errors import ConfigError
from navi.core.ids import Ids
from navi.core.query import Query
from navi.core.ranking import Ranking
from ranking.training.corpus import before_split
from ranking.training.dataset import Dataset
from ranking.training.options import TrainOptions
from ranking.training.progress import SilentProgress
from ranking.training.train import TrainReport, train

ORIGIN = {"kind": "tiny"}


@pytest.fixture(scope="module")
def trained(tiny: Callable[..., Dataset], quick: TrainOptions, tmp_path_factory: pytest.TempPathFactory) -> TrainReport:
    """Integer ids, impressions; read-only."""
    return train(tiny(), tmp_path_factory.mktemp("whole") / "bundle", quick, SilentProgress(), origin=ORIGIN)


@pytest.fixture(scope="module")
def without_impressions(
    tiny: Callable[..., Dataset], quick: TrainOptions, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Text ids, drawn negatives; read-only."""
    out = tmp_path_factory.mktemp("text") / "bundle"
    return train(tiny(complete=False, text=True), out, quick, SilentProgress(), origin=ORIGIN).path


def query(user: object, **changes: object) -> Query:
    features = {"device": Column(np.array(["phone"], dtype=object)), "hour": Column(np.ones(1, np.float32))}
    fields = {"pipeline": "home", "user": user, "k": 5, "deadline": Deadline.never(), "as_of": 1_009_000.0}
    return Query(**{**fields, "features": features, **changes})


def test_the_bundle_opens_and_ranks(trained: TrainReport) -> None:
    with Bundle.open(trained.path) as bundle:
        for user in (101, -1, None):
            (ranking,) = bundle.pipelines["home"].rank_many([query(user)])
            assert isinstance(ranking, Ranking)
            assert len(ranking.ids) == 5
            assert ranking.degradations == ()
            assert set(ranking.tasks) == {"click", "read"}


def test_a_bundle_with_text_ids_and_drawn_negatives_ranks(without_impressions: Path) -> None:
    with Bundle.open(without_impressions) as bundle:
        (ranking,) = bundle.pipelines["home"].rank_many([query("u3")])
        assert isinstance(ranking, Ranking)
        assert ranking.ids.is_text
        assert len(ranking.ids) == 5


@pytest.mark.parametrize("which", ["trained", "without_impressions"])
def test_training_rows_get_the_trainers_scores_from_the_scorer(which: str, request: pytest.FixtureRequest) -> None:
    made = request.getfixturevalue(which)
    path = made.path if isinstance(made, TrainReport) else made
    from navi.batching.scorer import ScoringRequest

    rows = pq.read_table(path / "training_rows.parquet").to_pylist()
    assert len(rows) == 30
    with Bundle.open(path) as bundle:
        table, scorer = bundle.table("items"), bundle.scorer("ranker")
        for row in rows:
            user = {name[5:]: as_values(value) for name, value in row.items() if is_given(name, value, "user.")}
            features = {
                name[8:]: Column(as_values(value)) for name, value in row.items() if is_given(name, value, "request.")
            }
            request_ = ScoringRequest(user, features, row["as_of"], Deadline.never())
            popularity = {"popularity": Column(np.array([row["popularity"]], dtype=np.float32))}
            scores = scorer.score(request_, table.lookup(Ids.of([row["item"]])), popularity)
            for task in ("click", "read"):
                expected = row[f"probability.{task}"]
                assert scores[task][0] == pytest.approx(expected, rel=2e-5)
                assert 0 < expected < 1


def is_given(name: str, value: object, origin: str) -> bool:
    """An empty list has no type of its own, and says no more than a missing one."""
    return name.startswith(origin) and value is not None and value != []


def as_values(value: object) -> np.ndarray:
    """A row's values as a store keeps them."""
    array = np.atleast_1d(np.array(value))
    if array.dtype.kind == "U":
        return array.astype(object)
    return array.astype(np.float32) if array.dtype.kind == "f" else array.astype(np.int64)


def test_item_vectors_score_as_the_towers_do(trained: TrainReport) -> None:
    with Bundle.open(trained.path) as bundle:
        vectors = bundle.vectors("items")
        assert vectors.matrix.shape == (40, 8)
        assert vectors.table_digest == bundle.table("items").digest
        assert vectors.model_digest == bundle.scorer("user_tower").digest == trained.digests["user_tower"]


def test_users_are_stored_as_they_stood_at_the_split(
    trained: TrainReport, tiny: Callable[..., Dataset], quick: TrainOptions
) -> None:
    events = before_split(tiny()).events
    ids = tiny().items["id"].to_pylist()
    with Bundle.open(trained.path) as bundle:
        store = bundle.store("users")
        assert store.count() == 25
        for user, row in enumerate(store.get_many(list(range(100, 125)))):
            mine = np.flatnonzero((events.user == user) & (events.labels["click"] > 0))
            assert row is not None
            assert row["positives"].tolist() == [len(mine)]
            assert row["shown"].tolist() == [(events.user == user).sum()]
            taken = [ids[item] for item in events.item[mine]]
            assert row.get("recent_items", np.empty(0)).tolist() == taken[-quick.history :]
            last_times = list(dict.fromkeys(reversed(taken)))[::-1]
            assert row.get("seen", np.empty(0)).tolist() == last_times[-quick.seen :]


def test_the_table_has_the_data_sets_items_and_their_popularity(
    trained: TrainReport, tiny: Callable[..., Dataset]
) -> None:
    past = before_split(tiny())
    counts = np.bincount(past.events.item[past.events.labels["click"] > 0], minlength=40)
    with Bundle.open(trained.path) as bundle:
        table = bundle.table("items")
        assert set(table.columns) == {*past.items.column_names, "popularity"}
        rows = table.lookup(Ids.of(past.items["id"].to_pylist()))
        np.testing.assert_allclose(table.column("popularity").values[rows], 1e6 * counts / counts.sum(), rtol=1e-6)


def test_the_report_says_how_the_bundle_was_made(trained: TrainReport, quick: TrainOptions) -> None:
    told = json.loads((trained.path / "training.json").read_text())
    assert told["origin"] == ORIGIN
    assert told["split"] == 1_009_000.0
    assert told["options"]["seed"] == quick.seed
    assert len(told["ranker"]) == len(told["user_tower"]) == 2
    assert told["ranker"][-1]["metrics"] == pytest.approx(dict(trained.metrics["ranker"]))
    assert set(told["seconds"]) == {"encoding", "training", "writing"}
    assert max(max(one["difference"].values()) for one in told["exported"].values()) <= 1e-5


def test_nothing_but_the_bundle_is_left(trained: TrainReport) -> None:
    assert [path.name for path in trained.path.parent.iterdir()] == ["bundle"]
    found = {path.name for path in trained.path.iterdir()}
    files = {"navi.toml", "training.json", "training_rows.parquet"}
    assert found == {*files, "models", "tables", "indexes", "features"}


def test_what_was_seen_is_hidden_unless_people_want_it_again(
    trained: TrainReport, tiny: Callable[..., Dataset]
) -> None:
    from ranking.training.bundle_config import write_config

    config = read_config(trained.path)
    names = [entry["name"] for entry in config.pipelines["home"].options["filters"]]
    assert names == ["excluded", "predicates", "seen", "age"]
    schema = config.features["users"].schema_of_rows()
    folder = trained.path.parent / "again"
    folder.mkdir()
    write_config(folder, replace(tiny(), repeats=True, plan=replace(tiny().plan, item_created=None)), schema, FUNNEL)
    names = [entry["name"] for entry in read_config(folder).pipelines["home"].options["filters"]]
    assert names == ["excluded", "predicates"]
    (folder / "navi.toml").unlink()
    folder.rmdir()


FUNNEL = TrainOptions().funnel


class Interrupted(Exception):
    """Stands for a kill."""


class StopsAt(SilentProgress):
    """Stops the run when a phase begins."""

    def __init__(self, phase: str) -> None:
        self.phase = phase

    def start(self, phase: str, steps: int) -> None:
        if phase.startswith(self.phase):
            raise Interrupted


def test_an_interrupted_run_goes_on_to_the_same_bundle_and_reads_nothing_of_the_future(
    trained: TrainReport, tiny: Callable[..., Dataset], quick: TrainOptions, tmp_path: Path
) -> None:
    dataset = tiny()
    later = dataset.events.time >= dataset.split
    labels = {task: np.where(later, 1 - values, values) for task, values in dataset.events.labels.items()}
    item = np.where(later, 0, dataset.events.item)
    changed = replace(dataset, events=replace(dataset.events, labels=labels, item=item))
    out = tmp_path / "bundle"
    with pytest.raises(Interrupted):
        train(changed, out, quick, StopsAt("user_tower, epoch 2"), origin=ORIGIN)
    assert not out.exists()
    epochs: list[str] = []
    again = train(changed, out, quick, Notes(epochs), origin=ORIGIN)
    assert [note.split(":")[0] for note in epochs] == ["user_tower 2/2"]
    assert again.digests == trained.digests
    for file in ("indexes/items.arrow", "tables/items.arrow", "navi.toml"):
        assert (out / file).read_bytes() == (trained.path / file).read_bytes()


class Notes(SilentProgress):
    def __init__(self, notes: list[str]) -> None:
        self.notes = notes

    def note(self, message: str) -> None:
        self.notes.append(message)


def test_a_directory_with_something_in_it_is_replaced_only_on_demand(
    tiny: Callable[..., Dataset], quick: TrainOptions, tmp_path: Path
) -> None:
    out = tmp_path / "bundle"
    out.mkdir()
    (out / "precious").write_text("data")
    with pytest.raises(ConfigError, match=r"out: .* is not empty"):
        train(tiny(), out, quick, SilentProgress(), origin=ORIGIN)
    with pytest.raises(Interrupted):
        train(tiny(), out, overwriting(quick), StopsAt("exporting"), origin=ORIGIN)
    assert (out / "precious").read_text() == "data", "the old one stays until the new one is complete"
    train(tiny(), out, overwriting(quick), SilentProgress(), origin=ORIGIN)
    assert not (out / "precious").exists()
    assert read_config(out).name == "tiny"
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(ConfigError, match="is no directory"):
        train(tiny(), file, overwriting(quick), SilentProgress(), origin=ORIGIN)


def overwriting(options: TrainOptions) -> TrainOptions:
    return options.model_copy(update={"overwrite": True})


def test_items_whose_ids_repeat_are_refused(tiny: Callable[..., Dataset], quick: TrainOptions, tmp_path: Path) -> None:
    from navi.core.errors import BundleError

    dataset = tiny()
    ids = dataset.items["id"].to_pylist()
    repeated = dataset.items.set_column(0, "id", pa.array([ids[1], *ids[1:]]))
    with pytest.raises(BundleError, match=str(ids[1])):
        train(replace(dataset, items=repeated), tmp_path / "bundle", quick, SilentProgress(), origin=ORIGIN)
