"""Named tensors as the KServe v2 and TensorFlow Serving codecs share them: datatypes, shapes, strings."""

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass

import numpy as np

from navi.core.arrays import Array
from navi.core.errors import InvalidArgument
from navi.wire.buffers import read, read_flags, shown

NUMBERS: dict[str, str] = {
    "INT8": "i1",
    "INT16": "<i2",
    "INT32": "<i4",
    "INT64": "<i8",
    "UINT8": "u1",
    "UINT16": "<u2",
    "UINT32": "<u4",
    "UINT64": "<u8",
    "FP16": "<f2",
    "FP32": "<f4",
    "FP64": "<f8",
}
"""numpy's little-endian dtype of each datatype that is one; the others are BOOL, BYTES, and BF16, read as float32."""

_DATATYPES: dict[np.dtype, str] = {
    np.dtype(np.bool_): "BOOL",
    np.dtype(np.object_): "BYTES",
    **{np.dtype(dtype): datatype for datatype, dtype in NUMBERS.items()},
}

DATATYPES = ("BOOL", *NUMBERS, "BF16", "BYTES")
"""KServe v2's names, used for TensorFlow's dtypes too."""

OPEN = -1
"""A dimension that each request chooses."""

MAX_RANK = 64
"""numpy's own limit."""

MAX_VALUES = 1 << 40
"""Past any message; keeps products of dimensions far from overflow."""


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """What a model says of an input or output. dims: sizes, or OPEN."""

    name: str
    datatype: str
    dims: tuple[int, ...]


def datatype_of(values: Array) -> str:
    """The datatype that an array travels as; object arrays are BYTES. InvalidArgument for any other dtype."""
    datatype = _DATATYPES.get(values.dtype)
    if datatype is None:
        raise InvalidArgument("dtype", f"{values.dtype} is not one that a tensor can have")
    return datatype


def shape_of(dims: Iterable[int], path: str) -> tuple[int, ...]:
    """The shape, once it is known to be one; nothing is allocated for it."""
    shape = tuple(dims)
    if len(shape) > MAX_RANK:
        raise InvalidArgument(path, f"has {len(shape)} dimensions, more than {MAX_RANK}")
    if min(shape, default=0) < 0:
        raise InvalidArgument(path, f"has the size {min(shape)}: sizes start at 0")
    if math.prod(filter(None, shape)) > MAX_VALUES:
        raise InvalidArgument(path, f"asks for more than {MAX_VALUES} values")
    return shape


def shaped(values: Array, shape: tuple[int, ...], path: str) -> Array:
    """`values` [n] in `shape`, without a copy; InvalidArgument where their number is another."""
    expected = math.prod(shape)
    if len(values) != expected:
        raise InvalidArgument(path, f"has {len(values)} values, where its shape {list(shape)} asks for {expected}")
    return values.reshape(shape)


def read_values(data: bytes, datatype: str, path: str, part: str) -> Array:
    """Little-endian values [n] of any datatype but BYTES: a view of `data`, but for BF16, which becomes float32."""
    if datatype == "BOOL":
        return read_flags(data, path, part)
    if datatype == "BF16":
        return widened(read(data, "<u2", path, part))
    return read(data, NUMBERS[datatype], path, part)


def narrowed(values: Collection[int | float], dtype: str, path: str) -> Array:
    """Listed numbers as an array [n]; InvalidArgument where the dtype does not hold one of them."""
    try:
        return np.fromiter(values, dtype=dtype, count=len(values))
    except OverflowError as error:
        raise InvalidArgument(path, f"has a value that {np.dtype(dtype)} does not hold") from error


def widened(bits: Array) -> Array:
    """float32 of the upper halves `bits` (uint16): what bfloat16 is."""
    return (bits.astype("<u4") << 16).view("<f4")


def write_values(values: Array) -> bytes:
    """The values of an array of numbers or bools, row after row, little-endian."""
    return np.ascontiguousarray(values, dtype=NUMBERS.get(datatype_of(values), "?")).tobytes()


def as_bytes(values: Array, path: str) -> list[bytes]:
    """The strings of an object array of `bytes` or `str`, row after row; InvalidArgument for anything else in it."""
    listed = values.ravel().tolist()
    try:
        return [value if isinstance(value, bytes) else value.encode() for value in listed]
    except (AttributeError, UnicodeEncodeError) as error:
        raise InvalidArgument(path, "has a value that is neither bytes nor text") from error


def as_texts(values: Array, path: str) -> Array:
    """The text in an object array of `bytes`, of the same shape; InvalidArgument where a value is not UTF-8."""
    texts = np.empty(values.size, dtype=object)
    for position, value in enumerate(values.ravel().tolist()):
        try:
            texts[position] = value.decode()
        except UnicodeDecodeError as error:
            raise InvalidArgument(path, f"string {position} is not UTF-8") from error
    return texts.reshape(values.shape)


def strings(values: list[bytes]) -> Array:
    """Strings as an object array [n]; numpy's own conversion would cut trailing zero bytes."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def known(datatype: str, path: str) -> str:
    """`datatype`, where it is one."""
    if datatype not in DATATYPES:
        raise InvalidArgument(path, f"datatype {shown(datatype)!r} is none of {', '.join(DATATYPES)}")
    return datatype
