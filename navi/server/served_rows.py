"""One answer as rows for training: what was known of the request, and of each answered item."""

from collections.abc import Mapping
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa

from navi.core.arrays import Array
from navi.core.column import Column, dtype_name
from navi.core.ids import Ids
from navi.core.query import Query
from navi.core.ranking import Ranking
from navi.features.arrow_file import ArrowArray
from navi.server.call import Call

_LEAVES = {"float32": pa.float32(), "int64": pa.int64(), "bool": pa.bool_(), "string": pa.string()}


def request_row(call: Call, query: Query, answer: Ranking, share: float) -> pa.RecordBatch:
    """One row: the call, the versions that answered it, and the features of the request.

    share: of the requests that are logged. Lists are lists; a feature of the user or the request is a list of its
    values, null where there is none. The user is null where anonymous.
    """
    columns: dict[str, ArrowArray] = {
        "request_id": pa.array([call.request_id], pa.string()),
        "time": pa.array([datetime.fromtimestamp(call.arrival.time, UTC)], pa.timestamp("us", "UTC")),
        "as_of": pa.array([answer.as_of], pa.float64()),
        "pipeline": pa.array([call.pipeline], pa.string()),
        "caller": pa.array([call.caller], pa.string()),
        "user": pa.array([query.user]),
        "k": pa.array([query.k], pa.int32()),
        "seed": pa.array([answer.seed], pa.uint64()),
        "sample_rate": pa.array([share], pa.float64()),
        "degraded": pa.array([[f"{one.stage}: {one.reason}" for one in answer.degradations]], pa.list_(pa.string())),
        **{f"model.{name}": pa.array([version], pa.string()) for name, version in answer.models.items()},
        **{f"request.{name}": _listed(_only_row(column)) for name, column in query.features.items()},
    }
    return pa.RecordBatch.from_pydict(columns)


def item_rows(answer: Ranking) -> tuple[pa.RecordBatch, pa.RecordBatch]:
    """(user's features, a row; what is known of each answered item, a row each).

    Runs `Ranking.served`.
    """
    served = None if answer.served is None else answer.served()
    n = len(answer.ids)
    columns: dict[str, ArrowArray] = {
        "item": _ids(answer.ids),
        "position": pa.array(np.arange(n, dtype=np.int32)),
        "score": pa.array(answer.scores, pa.float32()),
        **{f"task.{name}": pa.array(values, pa.float32()) for name, values in answer.tasks.items()},
        "sources": pa.array(answer.sources_of(), pa.list_(pa.string())),
        "propensity": pa.nulls(n, pa.float32()) if served is None else pa.array(served.propensities, pa.float32()),
    }
    users: Mapping[str, Array] = {} if served is None else served.user
    if served is not None:
        columns |= {f"item.{name}": arrow_of(column) for name, column in served.items.items()}
    user = pa.RecordBatch.from_pydict({f"user.{name}": _listed(values) for name, values in users.items()})
    return user, pa.RecordBatch.from_pydict(columns)


def arrow_of(column: Column) -> ArrowArray:
    """One value a row, or a list a row; null where missing."""
    missing = None if column.valid is None else pa.array(~column.valid)
    if column.offsets is None and column.values.ndim == 1:
        return _leaf(column.values, None if column.valid is None else ~column.valid)
    offsets = column.offsets
    if offsets is None:
        offsets = np.arange(len(column) + 1) * column.width
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), _leaf(column.values.reshape(-1)), mask=missing)


def _leaf(values: Array, missing: Array | None = None) -> ArrowArray:
    return pa.array(values, _LEAVES[dtype_name(values.dtype)], mask=missing)


def _listed(values: Array | None) -> ArrowArray:
    """One row: the list of these values; null for None."""
    if values is None:
        return pa.nulls(1)
    return arrow_of(Column(values, np.array([0, len(values)])))


def _only_row(column: Column) -> Array | None:
    missing = column.valid is not None and not column.valid[0]
    return None if missing else column.values.reshape(-1)


def _ids(ids: Ids) -> ArrowArray:
    return pa.array(ids.tolist(), pa.string()) if ids.is_text else pa.array(ids.values, pa.int64())
