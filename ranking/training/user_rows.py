"""The users' features as they stand at the split: what a trained bundle's feature store begins with."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from navi.core.arrays import Array
from navi.core.column import Column
from navi.features.lmdb_store import LmdbStore
from navi.features.schema import FeatureSchema, Field
from ranking.training.bundle_config import PATHS, USERS
from ranking.training.corpus import Corpus
from ranking.training.options import TrainOptions
from ranking.training.progress import Progress
from ranking.training.snapshots import SEEN, Snapshots, seen_items

BATCH = 2_000


def write_users(
    directory: Path, corpus: Corpus, snapshots: Snapshots, options: TrainOptions, report: Progress
) -> FeatureSchema:
    """Write a row for every user of whom something is known, and return the rows' schema."""
    dataset = corpus.dataset
    everyone = np.arange(len(dataset.user_ids))
    at_split = np.full(len(everyone), dataset.split)
    ids = corpus.table.column(corpus.table.key).values
    seen = seen_items(dataset.events, corpus.interacted, ids, limit=options.seen)
    columns = {**snapshots.at(everyone, at_split), SEEN: seen.at(everyone, at_split)}
    limits = {name: recent.limit for name, recent in snapshots.recent.items()} | {SEEN: options.seen}
    schema = _schema(columns, limits)
    known = _known(columns)
    store = LmdbStore.open(directory / PATHS[USERS], schema, key="string" if dataset.user_ids.is_text else "int64")
    report.start("writing users", len(known))
    try:
        for start in range(0, len(known), BATCH):
            chosen = known[start : start + BATCH]
            store.put_many(dataset.user_ids.take(chosen).tolist(), rows_of(columns, chosen), "replace")
            report.advance(len(chosen))
    finally:
        store.close()
    return schema


def rows_of(columns: Mapping[str, Column], chosen: Array) -> list[dict[str, Array]]:
    """Rows of a feature store from columns; missing values and empty lists are left out."""
    taken = {name: column.take(chosen) for name, column in columns.items()}
    rows: list[dict[str, Array]] = []
    for at in range(len(chosen)):
        values = {name: column.row(at) for name, column in taken.items()}
        rows.append({name: row for name, row in values.items() if row is not None and len(row)})
    return rows


def _schema(columns: Mapping[str, Column], limits: Mapping[str, int]) -> FeatureSchema:
    fields = {}
    for name, column in columns.items():
        if column.ragged:
            fields[name] = Field(dtype=column.dtype, max_length=limits[name])
        else:
            fields[name] = Field(dtype=column.dtype, width=column.width)
    return FeatureSchema(fields)


def _known(columns: Mapping[str, Column]) -> Array:
    """Positions of the users with a feature that is neither missing, nor an empty list, nor a count of nothing."""
    known = np.zeros(len(columns[SEEN]), dtype=np.bool_)
    for column in columns.values():
        if column.offsets is not None:
            known |= np.diff(column.offsets) > 0
        elif column.dtype == "float32" and column.valid is None:
            known |= (column.values != 0).reshape(len(column), -1).any(axis=1)
        else:
            known |= True if column.valid is None else column.valid
    return np.flatnonzero(known)
