"""Requests of the offline pipeline: rows of a Parquet file as queries."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from navi.core.column import Column
from navi.core.deadline import Deadline
from navi.core.errors import BundleError, InvalidArgument
from navi.core.ids import Ids
from navi.core.query import MAX_K, Query, Supplied
from navi.features.arrow_normalise import columns_of

RESERVED = ("request_id", "pipeline", "user", "k", "as_of", "seed", "exclude", "candidates")
"""Columns with a meaning of their own; every other column is a request feature (null: missing)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Defaults:
    """What a request takes that has no column, or a null, for it."""

    pipeline: str
    k: int
    as_of: float


@dataclass(frozen=True, slots=True)
class BadRequest:
    """A row that is no query, and why."""

    request_id: str
    error: InvalidArgument


def read_chunks(path: Path, size: int) -> Iterator[pa.RecordBatch]:
    """The file's rows, `size` at a time (the last chunk may be shorter)."""
    with pq.ParquetFile(path) as file:
        yield from file.iter_batches(batch_size=size)


def count_rows(path: Path) -> int:
    try:
        return int(pq.read_metadata(path).num_rows)
    except (OSError, pa.ArrowInvalid) as error:
        raise InvalidArgument("--requests", f"{path} is no Parquet file: {error}") from error


def queries_of(chunk: pa.RecordBatch, defaults: Defaults, *, first: int) -> list[Query | BadRequest]:
    """One query a row; a row that is wrong becomes a BadRequest and harms no other."""
    features = _feature_columns(chunk)
    return [_query(row, features, at, defaults, first + at) for at, row in enumerate(_reserved(chunk).to_pylist())]


def _reserved(chunk: pa.RecordBatch) -> pa.RecordBatch:
    kept = chunk.select([name for name in chunk.schema.names if name in RESERVED])
    if kept.num_columns == 0:
        return chunk.append_column("k", pa.nulls(chunk.num_rows, pa.int64())).select(["k"])
    return kept


def _feature_columns(chunk: pa.RecordBatch) -> dict[str, Column]:
    names = [name for name in chunk.schema.names if name not in RESERVED]
    try:
        return columns_of(chunk, names)
    except BundleError as error:
        raise InvalidArgument("--requests", str(error)) from error


def _query(
    row: Mapping[str, Any], features: Mapping[str, Column], at: int, defaults: Defaults, number: int
) -> Query | BadRequest:
    request_id = str(row.get("request_id") or number)
    try:
        supplied = row.get("candidates")
        return Query(
            pipeline=str(row.get("pipeline") or defaults.pipeline),
            user=_user(row.get("user")),
            k=_k(row.get("k"), defaults.k),
            deadline=Deadline.never(),
            as_of=_time(row.get("as_of"), defaults.as_of),
            seed=int(row.get("seed") or 0),
            request_id=request_id,
            features=_features(features, at),
            supplied=None if supplied is None else Supplied(ids=_ids("candidates", supplied)),
            exclude=_ids("exclude", row.get("exclude") or []),
        )
    except InvalidArgument as error:
        return BadRequest(request_id, error)


def _features(columns: Mapping[str, Column], at: int) -> dict[str, Column]:
    index = np.array([at])
    present = {name: column for name, column in columns.items() if column.valid is None or column.valid[at]}
    return {name: column.take(index) for name, column in present.items()}


def _user(value: object) -> int | str | None:
    if value is None or isinstance(value, int | str):
        return value
    raise InvalidArgument("user", f"is {type(value).__name__}, where an integer or a string is expected")


def _k(value: object, default: int) -> int:
    k = default if value is None else value
    if not isinstance(k, int) or not 1 <= k <= MAX_K:
        raise InvalidArgument("k", f"is {k!r}, where a whole number from 1 to {MAX_K} is expected")
    return k


def _time(value: Any, default: float) -> float:
    if value is None:
        return default
    seconds = value.timestamp() if hasattr(value, "timestamp") else value
    if not isinstance(seconds, int | float) or not np.isfinite(seconds):
        raise InvalidArgument("as_of", f"is {value!r}, where seconds since the epoch or a timestamp are expected")
    return float(seconds)


def _ids(field: str, values: list[Any]) -> Ids:
    try:
        return Ids.of(values)
    except (TypeError, OverflowError) as error:
        raise InvalidArgument(field, str(error)) from error
