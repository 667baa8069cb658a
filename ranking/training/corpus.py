"""A data set made ready for training: items as table rows, nothing from after the split."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from navi.core.arrays import I64, Mask
from navi.core.errors import ConfigError
from navi.core.ids import Ids
from navi.features.item_table import ItemTable
from ranking.training.dataset import Dataset, Events
from ranking.training.popularity import POPULARITY, Popularity

KEY = "id"


@dataclass(frozen=True, slots=True, eq=False)
class Corpus:
    """dataset: its events end before the split, and their items are rows of `table`."""

    dataset: Dataset
    table: ItemTable

    @property
    def positive(self) -> Mask:
        """Which events are positives [n]."""
        return self.dataset.events.labels[self.dataset.positive] > 0

    @property
    def interacted(self) -> Mask:
        """Which events are the user's own doing [n]: any label above 0, or all where impressions are not known."""
        events = self.dataset.events
        if not self.dataset.complete_impressions:
            return np.ones(len(events), dtype=np.bool_)
        own: Mask = np.logical_or.reduce([events.labels[task] > 0 for task in self.dataset.tasks])
        return own


def before_split(dataset: Dataset) -> Dataset:
    """The data set without the events at or after its split; ConfigError where it cannot be trained on."""
    events = dataset.events
    if np.any(np.diff(events.time) < 0):
        raise ConfigError("dataset.events", "must be oldest first")
    end = int(np.searchsorted(events.time, dataset.split, side="left"))
    past = Events(
        user=events.user[:end],
        item=events.item[:end],
        time=events.time[:end],
        context={name: column.take(np.arange(end)) for name, column in events.context.items()},
        labels={task: events.labels[task][:end] for task in dataset.tasks},
    )
    if dataset.positive not in dataset.tasks:
        raise ConfigError("dataset.positive", f"{dataset.positive!r} is none of the tasks {dataset.tasks}")
    if not np.any(past.labels[dataset.positive] > 0):
        raise ConfigError("dataset.split", "there is no positive before the split")
    return replace(dataset, events=past)


def items_with_popularity(dataset: Dataset) -> pa.Table:
    """The item table's source: the data set's items, and the popularity that they have at the split."""
    if POPULARITY in dataset.items.column_names:
        raise ConfigError(f"dataset.items.{POPULARITY}", "is the trainer's own column; call yours otherwise")
    popularity = Popularity.of(dataset.events, dataset.events.labels[dataset.positive] > 0)
    every = np.arange(dataset.items.num_rows)
    values = popularity.at(every, np.full(len(every), dataset.split))
    return dataset.items.append_column(POPULARITY, pa.array(values))


def with_table_rows(dataset: Dataset, table: ItemTable) -> Corpus:
    """The data set with events' items as rows of the table that was written from its items."""
    ids: list[Any] = dataset.items[KEY].to_pylist()
    row_of: I64 = table.lookup(Ids.of(ids))
    events = replace(dataset.events, item=row_of[dataset.events.item])
    return Corpus(replace(dataset, events=events), table)
