"""A row as bytes and back: small, quick to read, and readable after the schema has changed.

    u8 version | u24 bytes of the signature | signature | pad to 4 | u32 payload bytes a field | pad to 8 | payloads

The signature names each stored field with its type, one a line (`i1:age`, `f4:taste`, `i*:seen`), so that a reader
needs no schema but its own: fields that it does not know, or knows under another type, are skipped. Rows that have the
same features share their signature, and its parsed form is cached. Payloads are little-endian and lie in falling order of their items'
size, which keeps every numeric value aligned; each text is UTF-8 with a closing 0xFF, a byte that UTF-8 never has.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

import numpy as np

from navi.core.arrays import Array
from navi.core.column import DTYPES, DType
from navi.core.errors import InvalidArgument, StoreError
from navi.features.schema import FeatureSchema, Field
from navi.features.store import Row

_VERSION = 1
_HEAD = struct.Struct("<I")
_CODES: dict[DType, str] = {"int64": "i", "float32": "f", "bool": "b", "string": "s"}
_STORED: dict[DType, np.dtype] = {name: dtype.newbyteorder("<") for name, dtype in DTYPES.items() if name != "string"}
_ORDER = "ifbs"
_END_OF_TEXT = b"\xff"
_CACHED_LAYOUTS = 4096


@dataclass(frozen=True, slots=True)
class _Slot:
    """One stored field as the reader sees it; `dtype` is None for text."""

    name: str
    dtype: np.dtype | None
    size: int
    width: int | None
    longest: int | None


@dataclass(frozen=True, slots=True)
class _Layout:
    """A parsed signature; a slot is None where the stored field is not in the reader's schema."""

    slots: tuple[_Slot | None, ...]
    sizes: struct.Struct
    sizes_at: int
    payload_at: int


@dataclass(frozen=True, slots=True)
class _Template:
    """How rows that have the same features are written."""

    names: tuple[str, ...]
    head: bytes
    sizes: struct.Struct
    pad: bytes


class RowCodec:
    """Packs and unpacks the rows of one schema. Safe to use from many threads."""

    def __init__(self, schema: FeatureSchema) -> None:
        self.schema = schema
        self._signs = {name: _sign(name, field) for name, field in schema.fields.items()}
        self._slots = {self._signs[name]: _slot(name, field) for name, field in schema.fields.items()}
        self._layout = lru_cache(_CACHED_LAYOUTS)(self._parsed)
        self._template = lru_cache(_CACHED_LAYOUTS)(self._arranged)

    def pack(self, row: Row) -> bytes:
        """A row, as `FeatureSchema.check` returns it, as bytes.

        Raises InvalidArgument for a feature, dtype or width that the schema does not have.
        """
        template = self._template(tuple(row))
        payloads = [_payload(name, self.schema.fields[name], row[name]) for name in template.names]
        sizes = template.sizes.pack(*map(len, payloads))
        return b"".join((template.head, sizes, template.pad, *payloads))

    def unpack(self, data: bytes) -> Row:
        """The features of a packed row that the schema still has; arrays are read-only views of `data`.

        Of a ragged feature longer than the schema allows now, the last values are given.
        Raises StoreError for bytes that are no packed row.
        """
        try:
            (head,) = _HEAD.unpack_from(data)
            if head & 0xFF != _VERSION:
                raise StoreError(f"a stored row has format {head & 0xFF}, where {_VERSION} is expected")
            layout = self._layout(data[_HEAD.size : _HEAD.size + (head >> 8)])
            row, end = _unpacked(layout, data)
        except (ValueError, struct.error) as error:
            raise StoreError(f"a stored row is damaged: {error}") from error
        if end != len(data):
            raise StoreError(f"a stored row is damaged: it has {len(data)} bytes, where {end} are expected")
        return MappingProxyType(row)

    def _parsed(self, signature: bytes) -> _Layout:
        signs = signature.decode().split("\n")
        if signs.pop():
            raise ValueError("its signature is cut off")
        sizes = struct.Struct(f"<{len(signs)}I")
        sizes_at = _aligned(_HEAD.size + len(signature), 4)
        slots = tuple(self._slots.get(sign) for sign in signs)
        return _Layout(slots, sizes, sizes_at, _aligned(sizes_at + sizes.size, 8))

    def _arranged(self, given: tuple[str, ...]) -> _Template:
        for name in given:
            if name not in self._signs:
                raise InvalidArgument(name, "is no feature of this schema")
        names = tuple(sorted(given, key=lambda name: (_ORDER.index(self._signs[name][0]), name)))
        signature = "".join(self._signs[name] + "\n" for name in names).encode()
        sizes = struct.Struct(f"<{len(names)}I")
        head = _HEAD.pack(_VERSION | len(signature) << 8) + signature
        head += bytes(_aligned(len(head), 4) - len(head))
        end = len(head) + sizes.size
        return _Template(names, head, sizes, bytes(_aligned(end, 8) - end))


def _unpacked(layout: _Layout, data: bytes) -> tuple[dict[str, Array], int]:
    row: dict[str, Array] = {}
    start = layout.payload_at
    for slot, size in zip(layout.slots, layout.sizes.unpack_from(data, layout.sizes_at), strict=True):
        if slot is None:
            pass
        elif slot.dtype is None:
            row[slot.name] = _texts(slot, data[start : start + size])
        elif slot.width is not None:
            if size != slot.size:
                raise ValueError(f"{slot.name} has {size} bytes, where {slot.size} are expected")
            row[slot.name] = np.frombuffer(data, slot.dtype, slot.width, start)
        else:
            values = np.frombuffer(data, slot.dtype, size // slot.size, start)
            row[slot.name] = values if len(values) <= slot.longest else values[-slot.longest :]
        start += size
    return row, start


def _texts(slot: _Slot, data: bytes) -> Array:
    texts = data.split(_END_OF_TEXT)
    if texts.pop() or slot.width not in (None, len(texts)):
        raise ValueError(f"{slot.name} is not the text that is expected")
    if slot.longest is not None:
        texts = texts[-slot.longest :]
    values = np.array([text.decode() for text in texts], dtype=object)
    values.setflags(write=False)
    return values


def _payload(name: str, field: Field, values: Array) -> bytes:
    if values.dtype != DTYPES[field.dtype] or not (field.ragged or len(values) == field.width):
        raise InvalidArgument(name, f"is {values.dtype} [{len(values)}], which its field does not have")
    if field.dtype == "string":
        return b"".join([text.encode() + _END_OF_TEXT for text in values])
    return values.astype(_STORED[field.dtype], copy=False).tobytes()


def _sign(name: str, field: Field) -> str:
    if "\n" in name:
        raise InvalidArgument(name, "has a line break in its name")
    return f"{_CODES[field.dtype]}{'*' if field.ragged else field.width}:{name}"


def _slot(name: str, field: Field) -> _Slot:
    width = None if field.ragged else field.width
    if field.dtype == "string":
        return _Slot(name, None, 0, width, field.max_length)
    dtype = _STORED[field.dtype]
    return _Slot(name, dtype, dtype.itemsize * (width or 1), width, field.max_length)


def _aligned(position: int, boundary: int) -> int:
    return -(-position // boundary) * boundary
