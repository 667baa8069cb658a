"""Keys and columns of ids on the wire."""

import numpy as np

from navi.core.arrays import I64, U8
from navi.core.errors import InvalidArgument
from navi.core.ids import Ids, Key
from navi.wire.buffers import read, read_offsets, write, write_offsets
from navi.wire.v1 import types_pb2


def decode_key(message: types_pb2.Key, path: str) -> Key:
    kind = message.WhichOneof("kind")
    if kind is None:
        raise InvalidArgument(path, "has neither a number nor a text")
    return message.number if kind == "number" else message.text


def encode_key(key: Key, path: str) -> types_pb2.Key:
    """InvalidArgument for what is neither a 64-bit integer nor text."""
    if isinstance(key, str):
        _utf8(key, path)
        return types_pb2.Key(text=key)
    if isinstance(key, bool) or not isinstance(key, int | np.integer):
        raise InvalidArgument(path, f"is {type(key).__name__}, where an integer or a string is expected")
    if not -(2**63) <= key < 2**63:
        raise InvalidArgument(path, "does not fit into 64 bits")
    return types_pb2.Key(number=int(key))


def decode_ids(message: types_pb2.Ids, path: str) -> Ids:
    """Ids of one kind, sharing memory with the message's bytes; no bytes at all are no integers."""
    numbers, text, text_offsets = message.numbers, message.text, message.text_offsets
    if not text and not text_offsets:
        return Ids(read(numbers, "<i8", path, "numbers"))
    if numbers:
        raise InvalidArgument(path, "has both numbers and text")
    values = read(text, "u1", path, "text")
    offsets = read_offsets(text_offsets, len(values), path, "text_offsets")
    _check_text(text, values, offsets, path)
    return Ids(values, offsets)


def encode_ids(ids: Ids, path: str = "ids") -> types_pb2.Ids:
    if ids.offsets is None:
        return types_pb2.Ids(numbers=write(ids.values, "<i8"))
    return types_pb2.Ids(text=write(ids.values, "u1"), text_offsets=write_offsets(ids.offsets, path))


def _check_text(text: bytes, values: U8, offsets: I64, path: str) -> None:
    if text.isascii():
        return
    try:
        text.decode()
    except UnicodeDecodeError as error:
        position = int(np.searchsorted(offsets, error.start, side="right")) - 1
        raise InvalidArgument(path, f"text of id {position} is not UTF-8") from error
    starts = offsets[offsets < len(values)]
    inside = np.flatnonzero(values[starts] & 0xC0 == 0x80)
    if len(inside):
        raise InvalidArgument(path, f"text_offsets cuts a character at position {inside[0]}")


def _utf8(text: str, path: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidArgument(path, "cannot be written as UTF-8") from error
