"""Queries about the users that a bundle knows, for measurements."""

import json
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from navi.bundle.bundle import Bundle
from navi.core.column import Column
from navi.core.deadline import Deadline
from navi.core.errors import BundleError
from navi.core.ids import Key
from navi.core.query import Query
from navi.features.arrow_normalise import columns_of

REQUEST, USER = "request.", "user."


@dataclass(frozen=True, slots=True)
class Asker:
    """Makes queries of one pipeline, with the same request features for all."""

    pipeline: str
    as_of: float
    features: dict[str, Column]

    def query(self, user: Key, k: int) -> Query:
        return Query(
            pipeline=self.pipeline, user=user, k=k, deadline=Deadline.never(), as_of=self.as_of, features=self.features
        )


def asker_of(bundle: Path, pipeline: str) -> Asker:
    """Asks as of the bundle's split, with the request features of its first sample row."""
    rows = sample_rows(bundle)
    features = columns_of(rows, [name for name in rows.schema.names if name.startswith(REQUEST)])
    as_of = float(json.loads((bundle / "training.json").read_text(encoding="utf-8"))["split"])
    first = {name.removeprefix(REQUEST): column.take(np.array([0])) for name, column in features.items()}
    return Asker(pipeline, as_of, first)


def sample_rows(bundle: Path) -> pa.RecordBatch:
    """The training rows that `navi train` left beside the bundle; BundleError where there are none."""
    path = bundle / "training_rows.parquet"
    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowInvalid) as error:
        raise BundleError(f"{path} cannot be read: {error}") from error
    batches = table.combine_chunks().to_batches()
    if not batches:
        raise BundleError(f"{path} has no rows")
    return batches[0]


def known_users(bundle: Bundle, pipeline: str, count: int) -> list[Key]:
    """Keys of the first users in the pipeline's feature store; BundleError where it has none that can be listed."""
    name = bundle.config.pipelines[pipeline].options.get("users")
    store: Any = None if name is None else bundle.store(name)
    if store is None:
        raise BundleError(f"pipeline {pipeline!r} has no feature store of users")
    return [key for key, _ in islice(store.items(), count)]


def largest_logit_gap(ours: Any, theirs: Any) -> float:
    """The largest |difference of logits| / max(1, |logit|) between two float arrays of probabilities [n]."""
    a, b = _logit(ours), _logit(theirs)
    if len(a) == 0:
        return 0.0
    return float(np.max(np.abs(a - b) / np.maximum(1.0, np.abs(a))))


def _logit(probabilities: Any) -> Any:
    p = np.asarray(probabilities, dtype=np.float64)
    return np.log(p) - np.log1p(-p)
