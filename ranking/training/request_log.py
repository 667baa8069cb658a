"""The server's log of answers, read back as the encoder takes it: training sees what serving saw."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from navi.core.arrays import F64
from navi.core.column import Column
from navi.core.errors import BundleError
from navi.features.arrow_normalise import columns_of
from navi.features.encoder import Encoder

_FEATURES = ("user.", "request.", "item.")


@dataclass(frozen=True, slots=True, eq=False)
class LoggedAnswers:
    """A row for each answered item of each logged request.

    table: what is no feature: `request_id`, `item`, `position`, `score`, `task.NAME`, `propensity`, `sample_rate`,
    `model.NAME` and so on. columns: the features as they were served, `user.*`, `request.*` and `item.*`. as_of:
    float64 [n].
    """

    table: pa.Table
    columns: Mapping[str, Column]
    as_of: F64

    def __len__(self) -> int:
        return len(self.as_of)

    def features(self, encoder: Encoder) -> dict[str, Column]:
        """`columns` as this encoder names them: what a caller brought for an item is logged as the item's."""
        named = dict(self.columns)
        for name in encoder.features("pair"):
            origin, _, bare = name.partition(".")
            if origin == "pair" and f"item.{bare}" in named:
                named[name] = named[f"item.{bare}"]
        return named


def read_request_log(directory: Path, pipeline: str) -> LoggedAnswers:
    """All that is logged of a pipeline, in the order of the files.

    directory: what the server's setting `request_log` names; files of all its workers may be there. Raises BundleError
    where there is none of this pipeline, or where a column has types that do not go together.
    """
    files = sorted((directory / quote(pipeline, safe="")).glob("*.parquet"))
    if not files:
        raise BundleError(f"{directory} holds no log of pipeline {pipeline!r}")
    try:
        table = pa.concat_tables([pq.ParquetFile(file).read() for file in files], promote_options="default")
    except pa.ArrowException as error:
        raise BundleError(f"{directory}: files of {pipeline!r} do not go together: {error}") from error
    names = [name for name in table.column_names if name.startswith(_FEATURES)]
    known = [name for name in names if not pa.types.is_null(table.schema.field(name).type)]
    columns = columns_of(_batch(table.select(known)), known)
    as_of = cast("F64", table.column("as_of").to_numpy())
    return LoggedAnswers(table.drop_columns(names), {name: _even(column) for name, column in columns.items()}, as_of)


def _batch(table: pa.Table) -> pa.RecordBatch:
    whole = table.combine_chunks()
    return pa.RecordBatch.from_arrays([column.combine_chunks() for column in whole.columns], names=whole.column_names)


def _even(column: Column) -> Column:
    """A list a row as the same number of values a row, where that is what it is; a single value stands by itself.

    The log keeps every feature of the user and the request as a list.
    """
    if column.offsets is None:
        return column
    lengths = np.diff(column.offsets)
    valid = np.ones(len(column), dtype=np.bool_) if column.valid is None else column.valid
    widths = np.unique(lengths[valid])
    if len(widths) != 1:
        return column
    width = int(widths[0])
    shape = (len(column),) if width == 1 else (len(column), width)
    values = np.zeros(shape, dtype=column.values.dtype)
    values[valid] = column.values[column.offsets[0] : column.offsets[-1]].reshape(-1, *shape[1:])
    return Column(values, valid=column.valid)
