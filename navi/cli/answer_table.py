"""Answers of the offline pipeline: one row a request, as Arrow."""

from collections.abc import Sequence

import pyarrow as pa

from navi.core.errors import NaviError
from navi.core.ids import Ids
from navi.core.ranking import Ranking


def answer_schema(*, text_ids: bool) -> pa.Schema:
    """Columns of a row: the request's id; ids and scores, best first; tasks, a list of scores by task; sources, the
    names that brought each item; degradations as `stage: reason`; shortfall, reason -> candidates; error, null where
    the request was answered."""
    return pa.schema(
        [
            ("request_id", pa.string()),
            ("ids", pa.list_(pa.string() if text_ids else pa.int64())),
            ("scores", pa.list_(pa.float32())),
            ("tasks", pa.map_(pa.string(), pa.list_(pa.float32()))),
            ("sources", pa.list_(pa.list_(pa.string()))),
            ("degradations", pa.list_(pa.string())),
            ("shortfall", pa.map_(pa.string(), pa.int64())),
            ("error", pa.string()),
        ]
    )


def answers_as_table(request_ids: Sequence[str], answers: Sequence[Ranking | NaviError], schema: pa.Schema) -> pa.Table:
    """Rows of `answer_schema`, position for position."""
    rows = [_row(name, answer) for name, answer in zip(request_ids, answers, strict=True)]
    return pa.Table.from_pylist(rows, schema=schema)


def _row(request_id: str, answer: Ranking | NaviError) -> dict[str, object]:
    if isinstance(answer, NaviError):
        return {"request_id": request_id, "error": f"{type(answer).__name__}: {answer}"}
    return {
        "request_id": request_id,
        "ids": _ids(answer.ids),
        "scores": answer.scores,
        "tasks": list(answer.tasks.items()),
        "sources": answer.sources_of(),
        "degradations": [f"{entry.stage}: {entry.reason}" for entry in answer.degradations],
        "shortfall": list(answer.shortfall.items()),
    }


def _ids(ids: Ids) -> object:
    return ids.tolist() if ids.is_text else ids.values
