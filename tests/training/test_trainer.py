"""The training loop: repeatable, resumable, and honest about what it validates on."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from navi.core.arrays import I64
from navi.core.errors import ConfigError
from ranking.training.corpus import Corpus
from ranking.training.dataset import Dataset
from ranking.training.distil import Teacher
from ranking.training.models import TrainingRows, ranker_objective, tower_objective
from ranking.training.options import TrainOptions
from ranking.training.prepared import fingerprint, prepare
from ranking.training.progress import SilentProgress
from ranking.training.trainer import Epoch, FitOptions, best_epoch, fit, schedule, seed_of

FIT = FitOptions(seed=1, epochs=3, learning_rate=0.05, weight_decay=0.01, fingerprint="a")
CorpusOf = Callable[[Dataset], Corpus]


@dataclass(frozen=True)
class Line:
    """y = 2 x - 1, learned from random points, with noise that comes from the generator."""

    model: nn.Module
    name: str = "line"
    judge: str | None = None

    def batches(self, epoch: int, generator: np.random.Generator) -> list[I64]:
        return np.split(generator.permutation(200), 20)

    def loss(self, batch: I64, generator: torch.Generator) -> Tensor:
        x = torch.from_numpy(batch).float()[:, None] / 100 - 1
        noise = torch.randn(x.shape, generator=generator) * 0.01
        return ((self.model(x) - (2 * x - 1) + noise) ** 2).mean()

    def metrics(self) -> dict[str, float]:
        slope = float(self.model.weight.detach())
        return {"slope": slope, "distance": abs(slope - 1.5)}


class Interrupted(Exception):
    """Stands for a kill."""


@dataclass
class StopsAfter(SilentProgress):
    steps: int

    def advance(self, steps: int = 1) -> None:
        self.steps -= steps
        if self.steps < 0:
            raise Interrupted


def line() -> Line:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return Line(nn.Linear(1, 1))


def weights(objective: Line) -> list[float]:
    return [float(value) for value in objective.model.state_dict().values()]


def test_the_loss_falls_and_epochs_are_reported(tmp_path: Path) -> None:
    made = line()
    epochs = fit(made, replace(FIT, epochs=6), tmp_path / "line.pt", SilentProgress())
    assert [type(epoch) for epoch in epochs] == [Epoch] * 6
    assert epochs[-1].loss < epochs[0].loss / 10
    assert epochs[-1].metrics["slope"] == pytest.approx(2, abs=0.2)
    assert not made.model.training


@pytest.mark.parametrize("steps", [5, 20, 25, 59])
def test_an_interrupted_run_goes_on_to_the_same_weights(tmp_path: Path, steps: int) -> None:
    whole, parts = line(), line()
    fit(whole, FIT, tmp_path / "whole.pt", SilentProgress())
    with pytest.raises(Interrupted):
        fit(parts, FIT, tmp_path / "parts.pt", StopsAfter(steps))
    again = line()
    epochs = fit(again, FIT, tmp_path / "parts.pt", SilentProgress())
    assert weights(again) == weights(whole)
    assert len(epochs) == 3


@pytest.mark.parametrize("steps", [50, 110, 1000])
def test_the_weights_of_the_best_epoch_are_kept(tmp_path: Path, steps: int) -> None:
    """The line's slope goes from near 0 to 2: at a judge that wants 1.5 it is best on the way."""
    made = replace(line(), judge="distance")
    options = replace(FIT, epochs=6)
    try:
        epochs = fit(made, options, tmp_path / "line.pt", StopsAfter(steps))
    except Interrupted:
        made = replace(line(), judge="distance")
        epochs = fit(made, options, tmp_path / "line.pt", SilentProgress())
    distances = [epoch.metrics["distance"] for epoch in epochs]
    best = best_epoch(epochs, "distance")
    assert 0 < best < len(epochs) - 1
    assert made.metrics()["distance"] == distances[best] == min(distances)


def test_without_a_finite_judgement_the_last_epoch_is_kept() -> None:
    epochs = [Epoch(loss=1.0, seconds=0.0, metrics={"loss": float("nan")}) for _ in range(3)]
    assert best_epoch(epochs, "loss") == 2
    assert best_epoch(epochs, None) == 2


def test_a_finished_run_is_not_repeated(tmp_path: Path) -> None:
    first, second = line(), line()
    fit(first, FIT, tmp_path / "line.pt", SilentProgress())
    fit(second, FIT, tmp_path / "line.pt", StopsAfter(0))
    assert weights(first) == weights(second)


def test_a_checkpoint_of_another_run_is_not_used(tmp_path: Path) -> None:
    first, second = line(), line()
    fit(first, FIT, tmp_path / "line.pt", SilentProgress())
    fit(second, replace(FIT, fingerprint="b", seed=2), tmp_path / "line.pt", SilentProgress())
    fresh = line()
    fit(fresh, replace(FIT, fingerprint="b", seed=2), tmp_path / "fresh.pt", SilentProgress())
    assert weights(second) == weights(fresh) != weights(first)


def test_the_rate_starts_low_peaks_early_and_ends_low() -> None:
    factors = [schedule(at / 100) for at in range(101)]
    assert factors[0] == 0.02
    assert factors.index(max(factors)) == 5
    assert max(factors) == 1
    assert factors[-1] == pytest.approx(0.02)
    assert all(later < earlier for earlier, later in pairwise(factors[5:]))


def test_seeds_differ_by_every_part_of_their_name() -> None:
    names = [(0, "a", 0), (0, "a", 1), (0, "b", 0), (1, "a", 0), (0, "epoch 1"), (0, "epoch 2")]
    assert len({seed_of(*name) for name in names}) == len(names)
    assert seed_of(0, "a", 1) == seed_of(0, "a", 1)


def test_validation_comes_after_all_of_training(tiny_corpus: Corpus, quick: TrainOptions) -> None:
    prepared = prepare(tiny_corpus, quick)
    time = prepared.moments.time
    assert time[prepared.training_rows.moment].max() < time[prepared.validation_rows.moment].min()
    share = len(prepared.validation_rows) / len(prepared.rows)
    assert 0.03 < share < 0.08
    met = np.unique(prepared.training_rows.item)
    vocabulary = prepared.declarations.vocabularies["item_id"]
    assert vocabulary.values == tiny_corpus.table.ids.take(met)


def test_vocabularies_hold_only_what_training_has_met_often_enough(tiny_corpus: Corpus, quick: TrainOptions) -> None:
    prepared = prepare(tiny_corpus, quick.model_copy(update={"min_count": 15}))
    counts = np.bincount(prepared.training_rows.item, minlength=len(tiny_corpus.table))
    assert prepared.declarations.vocabularies["item_id"].values == tiny_corpus.table.ids.take(
        np.flatnonzero(counts >= 15)
    )
    assert (counts < 15).any()


def test_numbers_are_normalised_by_what_training_rows_hold(tiny_corpus: Corpus, quick: TrainOptions) -> None:
    prepared = prepare(tiny_corpus, quick)
    names = [transform.name for spec in prepared.declarations.item for transform in spec.features][:3]
    assert names == ["price", "price_known", "length"]
    price = prepared.inputs.item_dense.numpy()[prepared.training_rows.item, 0]
    assert abs(price.mean()) < 1e-5
    there = tiny_corpus.table.column("price").valid[prepared.training_rows.item]
    assert price[there].std() == pytest.approx(1, abs=1e-4)


def test_data_without_impressions_gets_other_negatives_each_epoch(
    tiny, corpus_of: CorpusOf, quick: TrainOptions
) -> None:
    prepared = prepare(corpus_of(tiny(complete=False)), quick)
    rows = TrainingRows(prepared)
    first, second, again = rows(0), rows(1), rows(0)
    assert len(first.rows) == 3 * len(prepared.training_rows)
    assert not np.array_equal(first.rows.item, second.rows.item)
    np.testing.assert_array_equal(first.rows.item, again.rows.item)
    np.testing.assert_array_equal(first.pair, again.pair)
    assert prepared.sampling == {"click": 2 / 39, "read": 2 / 39}


def test_known_impressions_are_all_there_is_to_learn_from(tiny_corpus: Corpus, quick: TrainOptions) -> None:
    prepared = prepare(tiny_corpus, quick)
    assert TrainingRows(prepared)(0).rows.item.tolist() == prepared.training_rows.item.tolist()
    assert prepared.sampling == {}


def test_every_row_is_trained_on_once_an_epoch(tiny_corpus: Corpus, quick: TrainOptions) -> None:
    objective = ranker_objective(prepare(tiny_corpus, quick))
    batches = objective.batches(0, np.random.default_rng(0))
    moments = np.concatenate(batches)
    assert len(np.unique(moments)) == len(moments)
    rows = [int(np.isin(objective.training(0).rows.moment, batch).sum()) for batch in batches]
    assert sum(rows) == len(objective.training(0).rows)
    assert max(rows) < 2 * objective.batch_rows


def test_both_models_learn_a_planted_preference(tiny_corpus: Corpus, quick: TrainOptions, tmp_path: Path) -> None:
    prepared = prepare(tiny_corpus, quick)
    fitting = replace(FIT, epochs=8, learning_rate=0.02, weight_decay=0.0)
    ranker = ranker_objective(prepared)
    epochs = fit(ranker, fitting, tmp_path / "ranker.pt", SilentProgress())
    assert epochs[-1].loss < 0.9 * epochs[0].loss
    towers = tower_objective(prepared, ranker.model)
    epochs = fit(towers, fitting, tmp_path / "towers.pt", SilentProgress())
    assert epochs[-1].loss < epochs[0].loss


def test_the_teachers_lists_are_new_each_epoch_and_repeatable(tiny_corpus: Corpus, quick: TrainOptions) -> None:
    prepared = prepare(tiny_corpus, quick)
    teacher = Teacher(prepared, ranker_objective(prepared).model.eval())
    towers = tower_objective(prepared, teacher.ranker).model.eval()
    first, second, again = (teacher.lists(epoch, towers) for epoch in (1, 2, 1))
    assert not np.array_equal(first.items, second.items)
    np.testing.assert_array_equal(first.items, again.items)
    np.testing.assert_array_equal(first.target, again.target)
    np.testing.assert_allclose(first.target.sum(axis=1), 1, rtol=1e-5)
    assert first.moment.max() < prepared.cut, "nothing of the validation slice is taught"


def test_the_fingerprint_covers_options_events_and_items(tiny, corpus_of: CorpusOf, quick: TrainOptions) -> None:
    dataset = tiny()
    corpus = corpus_of(dataset)
    known = fingerprint(corpus, quick)
    assert fingerprint(corpus_of(dataset), quick) == known
    assert fingerprint(corpus, quick.model_copy(update={"overwrite": True, "sample_rows": 1})) == known
    assert fingerprint(corpus, quick.model_copy(update={"seed": 1})) != known
    items = dataset.items.set_column(4, "price", dataset.items["length"])
    assert fingerprint(corpus_of(replace(dataset, items=items)), quick) != known
    user = dataset.events.user.copy()
    user[0] += 1
    assert fingerprint(corpus_of(replace(dataset, events=replace(dataset.events, user=user))), quick) != known


def test_a_validation_slice_that_takes_all_positives_is_refused(tiny, corpus_of: CorpusOf, quick: TrainOptions) -> None:
    dataset = tiny()
    time = np.full(len(dataset.events), dataset.split - 1)
    corpus = corpus_of(replace(dataset, events=replace(dataset.events, time=time)))
    with pytest.raises(ConfigError, match="validation"):
        prepare(corpus, quick)
