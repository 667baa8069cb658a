"""Trains the two models of a bundle, one after the other: the second learns from the first."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from navi.core.arrays import F32
from ranking.training.distil import Teacher
from ranking.training.prepared import Prepared
from ranking.training.progress import Progress
from ranking.training.ranker import Ranker
from ranking.training.ranker_objective import EncodedRows, RankerObjective
from ranking.training.rows import Rows
from ranking.training.tower_objective import Positives, TowerObjective
from ranking.training.trainer import Epoch, FitOptions, fit, seed_of
from ranking.training.two_tower import TwoTower


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Trained:
    """Both models, and how their training went."""

    ranker: Ranker
    towers: TwoTower
    ranker_epochs: Sequence[Epoch]
    tower_epochs: Sequence[Epoch]


def train_models(prepared: Prepared, checkpoints: Path, fingerprint: str, report: Progress) -> Trained:
    """Both models of prepared data; epochs that `checkpoints` has are not repeated."""
    options = prepared.options
    ranker = ranker_objective(prepared)
    chosen = options.ranker
    ranker_fit = FitOptions(
        seed=options.seed,
        epochs=chosen.epochs,
        learning_rate=chosen.learning_rate,
        weight_decay=chosen.weight_decay,
        fingerprint=fingerprint,
    )
    ranker_epochs = fit(ranker, ranker_fit, checkpoints / "ranker.pt", report)
    towers = tower_objective(prepared, ranker.model)
    tower_fit = FitOptions(
        seed=options.seed,
        epochs=options.tower.epochs,
        learning_rate=options.tower.learning_rate,
        weight_decay=options.tower.weight_decay,
        fingerprint=fingerprint,
    )
    tower_epochs = fit(towers, tower_fit, checkpoints / "towers.pt", report)
    return Trained(ranker=ranker.model, towers=towers.model, ranker_epochs=ranker_epochs, tower_epochs=tower_epochs)


def ranker_objective(prepared: Prepared) -> RankerObjective:
    """A new ranker, and the rows to train it on."""
    dataset, options = prepared.corpus.dataset, prepared.options
    shape = prepared.shape(("request", "item", "pair"))
    with _seeded(options.seed, "ranker"):
        model = Ranker(shape, len(dataset.tasks), options.ranker)
    return RankerObjective(
        model=model,
        inputs=prepared.inputs,
        training=TrainingRows(prepared),
        validation=prepared.encode(prepared.drawn(prepared.validation_rows, "validation")),
        tasks=dataset.tasks,
        batch_rows=options.ranker.batch_rows,
        drop=options.id_dropout,
    )


class TrainingRows:
    """Rows of an epoch: always the same where impressions are known, with new negatives each time where not."""

    def __init__(self, prepared: Prepared) -> None:
        self._prepared = prepared
        self._rows = prepared.training_rows
        self._fixed = prepared.encode(self._rows) if prepared.corpus.dataset.complete_impressions else None

    def __call__(self, epoch: int) -> EncodedRows:
        if self._fixed is not None:
            return self._fixed
        return self._prepared.encode(self._prepared.drawn(self._rows, f"epoch {epoch}"))


def tower_objective(prepared: Prepared, ranker: Ranker) -> TowerObjective:
    """New towers, and what to train them on."""
    options = prepared.options
    counts = prepared.sampler(popular_share=0.0).counts
    with _seeded(options.seed, "user_tower"):
        model = TwoTower(prepared.shape(("request", "item")), options.tower)
    return TowerObjective(
        model=model,
        inputs=prepared.inputs,
        training=_positives(prepared, prepared.training_rows),
        validation=_positives(prepared, prepared.validation_rows),
        chance=counts / counts.sum(),
        prior=_log_exposure(prepared),
        teacher=None if options.tower.distil == 0 else Teacher(prepared, ranker),
        batch=options.tower.batch,
        uniform=options.tower.uniform_negatives,
        distil=options.tower.distil,
        drop=options.id_dropout,
    )


def _positives(prepared: Prepared, rows: Rows) -> Positives:
    found = np.flatnonzero(rows.labels[:, prepared.positive_task] > 0)
    return Positives(rows.moment[found], rows.item[found])


def _log_exposure(prepared: Prepared) -> F32:
    """Log of each item's share of the impressions, with one added to each; zeros where impressions are not known."""
    items = len(prepared.corpus.table)
    if not prepared.corpus.dataset.complete_impressions:
        return np.zeros(items, dtype=np.float32)
    shown = np.bincount(prepared.training_rows.item, minlength=items) + 1.0
    share: F32 = np.log(shown / shown.sum()).astype(np.float32)
    return share


@contextmanager
def _seeded(seed: int, name: str) -> Iterator[None]:
    """Start values of layers come from torch's global generator: seeded here, and left as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed_of(seed, name, "start"))
        yield
