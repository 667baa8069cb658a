"""Columns of features on the wire."""

from collections.abc import Iterable, Mapping

import numpy as np

from navi.core.arrays import I64, Array
from navi.core.column import Column, DType
from navi.core.errors import InvalidArgument
from navi.wire.buffers import read, read_flags, read_offsets, shown, write, write_offsets
from navi.wire.text_codec import decode_texts, encode_texts
from navi.wire.v1 import types_pb2

MAX_WIDTH = 1 << 20
"""Values a row in a column of fixed width."""

_NUMBERS: dict[DType, str] = {"float32": "<f4", "int64": "<i8"}
_DTYPES: dict[DType, types_pb2.DataType] = {
    "float32": types_pb2.FLOAT32,
    "int64": types_pb2.INT64,
    "bool": types_pb2.BOOL,
    "string": types_pb2.STRING,
}
_NAMES: dict[int, DType] = {number: name for name, number in _DTYPES.items()}


def decode_columns(
    messages: Iterable[types_pb2.Column], path: str, *, rows: int, finite: bool = True
) -> dict[str, Column]:
    """Named columns with `rows` rows each; InvalidArgument for a name that is empty or repeated, or another length.

    finite: refuse NaN and infinities in rows that are not marked missing.
    """
    columns: dict[str, Column] = {}
    for position, message in enumerate(messages):
        if not message.name or message.name in columns:
            problem = f"{shown(message.name)!r} is given twice" if message.name else "is empty"
            raise InvalidArgument(f"{path}[{position}].name", problem)
        place = f"{path}[{position}] ({shown(message.name)})"
        column = decode_column(message, place, finite=finite)
        if len(column) != rows:
            raise InvalidArgument(place, f"has {len(column)} rows, where {rows} are expected")
        columns[message.name] = column
    return columns


def decode_column(message: types_pb2.Column, path: str, *, finite: bool = True) -> Column:
    """A column that shares memory with the message's bytes, but for strings; read-only.

    path: where in the request the column stands, for messages. Raises InvalidArgument, naming the part that is wrong.
    """
    values = _values(message, path)
    row_offsets, valid = message.row_offsets, message.valid
    offsets = read_offsets(row_offsets, len(values), path, "row_offsets") if row_offsets else None
    column = Column(values if offsets is not None else _shaped(values, message.width or 1, path), offsets)
    if valid:
        if len(valid) != len(column):
            raise InvalidArgument(path, f"valid has {len(valid)} bytes for {len(column)} rows")
        column = Column(column.values, offsets, read_flags(valid, path, "valid"))
    return _finite(column, path) if finite and values.dtype.kind == "f" else column


def encode_columns(columns: Mapping[str, Column]) -> list[types_pb2.Column]:
    return [encode_column(name, column) for name, column in columns.items()]


def encode_column(name: str, column: Column) -> types_pb2.Column:
    """The message for a column; a width of 1 is not told from no width, and a width of 0 travels as empty rows.

    Raises InvalidArgument naming the column where a string is not text, or the column is too large for one message.
    """
    offsets, text_offsets = column.offsets, b""
    if column.dtype == "string":
        data, text_offsets = encode_texts(column.values, name)
    else:
        data = write(column.values, _NUMBERS.get(column.dtype, "?"))
    if offsets is None and column.width == 0:
        offsets = np.zeros(len(column) + 1, dtype=np.int64)
    return types_pb2.Column(
        name=name,
        dtype=_DTYPES[column.dtype],
        data=data,
        width=column.width if offsets is None and column.width > 1 else 0,
        row_offsets=b"" if offsets is None else write_offsets(offsets, name),
        text_offsets=text_offsets,
        valid=b"" if column.valid is None else write(column.valid, "?"),
    )


def _values(message: types_pb2.Column, path: str) -> Array:
    dtype = _NAMES.get(message.dtype)
    if dtype is None:
        raise InvalidArgument(path, f"dtype {message.dtype} is none of {', '.join(_NUMBERS)}, bool, string")
    data, text_offsets = message.data, message.text_offsets
    if dtype == "string":
        return decode_texts(data, text_offsets, path)
    if text_offsets:
        raise InvalidArgument(path, f"text_offsets has no place beside {dtype} values")
    return read_flags(data, path, "data") if dtype == "bool" else read(data, _NUMBERS[dtype], path, "data")


def _shaped(values: Array, width: int, path: str) -> Array:
    if width == 1:
        return values
    if width > MAX_WIDTH:
        raise InvalidArgument(path, f"width {width} is more than {MAX_WIDTH}")
    if len(values) % width:
        raise InvalidArgument(path, f"data has {len(values)} values, not a multiple of the width {width}")
    return values.reshape(-1, width) if len(values) else values.reshape(0, width)


def _finite(column: Column, path: str) -> Column:
    """The column with what stands in its missing rows zeroed; InvalidArgument where another value is not finite."""
    finite = np.isfinite(column.values)
    if finite.all():
        return column
    rows = _rows_of(np.flatnonzero(~finite), column)
    wrong = rows if column.valid is None else rows[column.valid[rows]]
    if len(wrong):
        raise InvalidArgument(path, f"is not finite in row {wrong[0]} (mark a missing value in `valid` instead)")
    return Column(np.where(finite, column.values, np.float32(0)), column.offsets, column.valid)


def _rows_of(positions: I64, column: Column) -> I64:
    if column.offsets is None:
        return positions // column.width
    return np.searchsorted(column.offsets, positions, side="right") - 1
