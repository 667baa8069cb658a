"""Some training rows with the trainer's scores, so that anyone can check that serving gives the same."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from navi.core.arrays import I64, Array, Mask
from navi.core.column import Column
from navi.features.arrow_file import ArrowArray
from ranking.training.models import Trained
from ranking.training.popularity import POPULARITY
from ranking.training.prepared import Prepared
from ranking.training.ranker_objective import score_rows
from ranking.training.trainer import seed_of

FILE = "training_rows.parquet"


def write_sample(directory: Path, prepared: Prepared, trained: Trained) -> None:
    """Write `training_rows.parquet`: a row a training row, evenly drawn by the seed.

    Columns: `user`, `item` (ids), `as_of` (seconds), `user.*` and `request.*` (features as they were), `popularity`
    (the item's at that moment), `logit.TASK` and `probability.TASK` (the trainer's).
    """
    rows = prepared.training_rows
    size = min(prepared.options.sample_rows, len(rows))
    generator = np.random.default_rng(seed_of(prepared.options.seed, "sample"))
    rows = rows.take(np.sort(generator.choice(len(rows), size=size, replace=False)))
    moments = prepared.moments.take(rows.moment)
    dataset, table = prepared.corpus.dataset, prepared.corpus.table
    logits = score_rows(trained.ranker, prepared.inputs, prepared.encode(rows))
    columns: dict[str, ArrowArray] = {
        "user": pa.array(dataset.user_ids.take(moments.user).tolist()),
        "item": pa.array(table.ids.take(rows.item).tolist()),
        "as_of": pa.array(moments.time),
        POPULARITY: pa.array(prepared.raw.popularity.at(rows.item, moments.time)),
    }
    columns |= {name: arrow_of(column) for name, column in prepared.raw.request(moments).items()}
    probabilities = prepared.probabilities(logits)
    for task, name in enumerate(dataset.tasks):
        columns[f"logit.{name}"] = pa.array(logits[:, task])
        columns[f"probability.{name}"] = pa.array(probabilities[:, task])
    pq.write_table(pa.table(columns), directory / FILE)


def arrow_of(column: Column) -> ArrowArray:
    """A column as Arrow: lists where it has several values a row, null where a value is missing."""
    missing = None if column.valid is None else ~column.valid
    if column.offsets is not None:
        return _lists(column.values, column.offsets, missing)
    if column.values.ndim == 1:
        return pa.array(column.values, mask=missing)
    width = column.values.shape[1]
    return _lists(column.values.reshape(-1), np.arange(len(column) + 1, dtype=np.int64) * width, missing)


def _lists(values: Array, offsets: I64, missing: Mask | None) -> ArrowArray:
    starts: ArrowArray = pa.array(offsets)
    return pa.LargeListArray.from_arrays(starts, pa.array(values), mask=missing)
