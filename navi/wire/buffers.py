"""Checked, copy-free views of the byte runs that requests are made of."""

from typing import TypeVar

import numpy as np
from google.protobuf.message import DecodeError, Message

from navi.core.arrays import I64, Array, Mask
from navi.core.errors import InvalidArgument

MAX_OFFSET = 2**31 - 1
"""Offsets travel as int32."""

M = TypeVar("M", bound=Message)


def parse(kind: type[M], data: bytes) -> M:
    """The message in `data`; InvalidArgument where there is none."""
    try:
        return kind.FromString(data)
    except DecodeError as error:
        raise InvalidArgument("message", f"is not a {kind.DESCRIPTOR.full_name}") from error


def read(data: bytes, dtype: str, path: str, part: str) -> Array:
    """`data` as values of `dtype` (little-endian), read-only, without a copy.

    path: the message's place in the request. part: the field's name in that message.
    """
    size = np.dtype(dtype).itemsize
    if len(data) % size:
        raise InvalidArgument(path, f"{part} has {len(data)} bytes, not a multiple of {size}")
    return np.frombuffer(data, dtype=dtype)


def read_offsets(data: bytes, total: int, path: str, part: str) -> I64:
    """Offsets int64 [n + 1] into `total` values: from 0 to `total`, never going back."""
    offsets = read(data, "<i4", path, part).astype(np.int64)
    if len(offsets) == 0 or offsets[0] != 0:
        raise InvalidArgument(path, f"{part} must start with 0")
    back = np.flatnonzero(offsets[1:] < offsets[:-1])
    if len(back):
        raise InvalidArgument(path, f"{part} goes back after position {back[0]}")
    if offsets[-1] != total:
        raise InvalidArgument(path, f"{part} ends at {offsets[-1]}, where there are {total}")
    return offsets


def read_flags(data: bytes, path: str, part: str) -> Mask:
    """One bool a byte; InvalidArgument for a byte that is neither 0 nor 1."""
    flags = np.frombuffer(data, dtype=np.uint8)
    if len(flags) and flags.max() > 1:
        raise InvalidArgument(path, f"{part} has a byte that is neither 0 nor 1 at position {np.argmax(flags > 1)}")
    return flags.view(np.bool_)


def write(values: Array, dtype: str) -> bytes:
    """`values` as little-endian bytes of `dtype`, row after row."""
    return np.ascontiguousarray(values, dtype=dtype).tobytes()


def write_offsets(offsets: Array, path: str) -> bytes:
    """Offsets as int32; InvalidArgument past what int32 holds."""
    if len(offsets) and offsets[-1] > MAX_OFFSET:
        raise InvalidArgument(path, f"is too large for one column: {offsets[-1]}, where {MAX_OFFSET} is the most")
    return write(offsets, "<i4")


def shown(name: str) -> str:
    """A caller's name, fit for a message: printable, and not too long."""
    short = name if len(name) <= 64 else name[:61] + "..."
    return short if short.isprintable() else ascii(short)[1:-1]
