"""What both kinds of answer say about how they came about: stages, degradations, per-task columns."""

from collections.abc import Iterable, Mapping

from navi.core.arrays import F32
from navi.core.column import Column
from navi.core.errors import InvalidArgument
from navi.core.ranking import Degradation, StageReport
from navi.wire.column_codec import decode_columns, encode_column
from navi.wire.v1 import ranking_pb2, types_pb2


def encode_stages(stages: Iterable[StageReport]) -> list[ranking_pb2.StageReport]:
    return [
        ranking_pb2.StageReport(
            name=stage.name,
            rows_in=stage.rows_in,
            rows_out=stage.rows_out,
            microseconds=stage.microseconds,
            offset_microseconds=stage.offset,
            degraded=stage.degraded,
            dropped=stage.dropped,
        )
        for stage in stages
    ]


def decode_stages(messages: Iterable[ranking_pb2.StageReport]) -> tuple[StageReport, ...]:
    return tuple(
        StageReport(
            name=message.name,
            rows_in=message.rows_in,
            rows_out=message.rows_out,
            microseconds=message.microseconds,
            offset=message.offset_microseconds,
            degraded=message.degraded,
            dropped=dict(message.dropped),
        )
        for message in messages
    )


def encode_degradations(degradations: Iterable[Degradation]) -> list[ranking_pb2.Degradation]:
    return [
        ranking_pb2.Degradation(stage=one.stage, reason=one.reason, detail=one.detail, rows=one.rows)
        for one in degradations
    ]


def decode_degradations(messages: Iterable[ranking_pb2.Degradation]) -> tuple[Degradation, ...]:
    return tuple(
        Degradation(stage=message.stage, reason=message.reason, detail=message.detail, rows=message.rows)
        for message in messages
    )


def encode_tasks(tasks: Mapping[str, F32]) -> list[types_pb2.Column]:
    return [encode_column(name, Column(values)) for name, values in tasks.items()]


def decode_tasks(messages: Iterable[types_pb2.Column], rows: int, path: str = "tasks") -> dict[str, F32]:
    """Columns of scores by name, float32 [rows] each; NaN is kept. path: where they stand, for messages."""
    columns = decode_columns(messages, path, rows=rows, finite=False)
    for name, column in columns.items():
        if column.dtype != "float32" or column.values.ndim != 1:
            raise InvalidArgument(f"{path} ({name})", "is not one float32 a row")
    return {name: column.values for name, column in columns.items()}
