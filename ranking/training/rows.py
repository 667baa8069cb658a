"""The rows that the ranker learns from: what was shown, or what was done with negatives drawn beside it."""

from dataclasses import dataclass

import numpy as np

from navi.core.arrays import F32, I64
from navi.core.ragged import offsets_of
from ranking.training.corpus import Corpus
from ranking.training.negatives import NegativeSampler


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rows:
    """moment, item: int64 [n], positions of a moment (ascending) and of a table row.

    labels: float32 [n, tasks], NaN where the task does not apply. weights: float32 [n].
    """

    moment: I64
    item: I64
    labels: F32
    weights: F32

    def __len__(self) -> int:
        return len(self.item)

    def take(self, index: I64) -> "Rows":
        return Rows(
            moment=self.moment[index], item=self.item[index], labels=self.labels[index], weights=self.weights[index]
        )

    def sorted(self) -> "Rows":
        """The rows in the order of their moments."""
        return self.take(np.argsort(self.moment, kind="stable"))

    def offsets(self, moments: int) -> I64:
        """Where each moment's rows begin [moments + 1]."""
        return offsets_of(np.bincount(self.moment, minlength=moments))


def event_rows(corpus: Corpus, moment: I64) -> Rows:
    """A row an event. moment: int64 [events]."""
    events = corpus.dataset.events
    labels = np.stack([events.labels[task] for task in corpus.dataset.tasks], axis=1).astype(np.float32)
    weights = np.ones(len(events), dtype=np.float32)
    return Rows(moment=moment, item=events.item, labels=labels, weights=weights).sorted()


def with_negatives(
    rows: Rows, sampler: NegativeSampler, *, drawn: int, positive: int, generator: np.random.Generator
) -> Rows:
    """The rows, and `drawn` negatives beside each positive of task number `positive`.

    A drawn item's label is 0, or missing for tasks that do not apply to every row. One that is the positive itself
    weighs nothing.
    """
    source = np.repeat(np.flatnonzero(rows.labels[:, positive] > 0), drawn)
    item, weights = sampler.draw(len(source), generator)
    weights[item == rows.item[source]] = 0.0
    absent = np.where(np.isnan(rows.labels).any(axis=0), np.nan, 0.0).astype(np.float32)
    labels = np.broadcast_to(absent, (len(source), len(absent)))
    both = Rows(
        moment=np.concatenate([rows.moment, rows.moment[source]]),
        item=np.concatenate([rows.item, item]),
        labels=np.concatenate([rows.labels, labels]),
        weights=np.concatenate([rows.weights, weights]),
    )
    return both.sorted()
