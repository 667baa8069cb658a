"""A row as bytes and back: small, quick to read, and readable after the schema has changed.

    u8 version | u24 bytes of the signature | signature | pad to 4
    u32 bytes of each varying field | pad to 8 | fields of fixed width | pad to 8 | varying fields (ragged, and text)

The signature (see `row_layout`) names the fields; what follows from it is worked out once and cached. Numbers are
little-endian, fields lie in falling order of their items' size, which keeps every value aligned; each text is UTF-8
with a closing 0xFF, a byte that UTF-8 never has.
"""

import struct
from functools import lru_cache
from types import MappingProxyType

import numpy as np

from navi.core.arrays import Array
from navi.core.column import DTYPES
from navi.core.errors import InvalidArgument, StoreError
from navi.features.row_layout import HEAD, STORED, VERSION, Layout, Template, Varying, arrange, parse, sign
from navi.features.schema import FeatureSchema
from navi.features.store import Row

_END_OF_TEXT = b"\xff"
_CACHED_LAYOUTS = 4096


class RowCodec:
    """Packs and unpacks the rows of one schema. Safe to use from many threads."""

    def __init__(self, schema: FeatureSchema) -> None:
        self.schema = schema
        self._signs = {name: sign(name, field) for name, field in schema.fields.items()}
        self._known = {self._signs[name]: (name, field) for name, field in schema.fields.items()}
        self._layout = lru_cache(_CACHED_LAYOUTS)(self._parsed)
        self._template = lru_cache(_CACHED_LAYOUTS)(self._arranged)

    def pack(self, row: Row) -> bytes:
        """A row, as `FeatureSchema.check` returns it, as bytes.

        Raises InvalidArgument for a feature, dtype or width that the schema does not have.
        """
        template = self._template(tuple(row))
        fixed = [self._payload(name, row[name]) for name in template.fixed]
        varying = [self._payload(name, row[name]) for name in template.varying]
        sizes = template.sizes.pack(*map(len, varying))
        return b"".join((template.head, sizes, template.pad, *fixed, template.middle, *varying))

    def unpack(self, data: bytes) -> Row:
        """The features of a packed row that the schema still has; arrays are read-only, numbers are views of `data`.

        Of a ragged feature longer than the schema allows now, the last values are given.
        Raises StoreError for bytes that are no packed row.
        """
        try:
            (head,) = HEAD.unpack_from(data)
            if head & 0xFF != VERSION:
                raise ValueError(f"its format is {head & 0xFF}, where {VERSION} is expected")
            row, end = _unpacked(self._layout(data[HEAD.size : HEAD.size + (head >> 8)]), data)
            if end != len(data):
                raise ValueError(f"it has {len(data)} bytes, where {end} are expected")
        except (ValueError, OverflowError, struct.error) as error:
            raise StoreError(f"a stored row cannot be read: {error}") from error
        return MappingProxyType(row)

    def _parsed(self, signature: bytes) -> Layout:
        return parse(signature, self._known)

    def _arranged(self, names: tuple[str, ...]) -> Template:
        for name in names:
            if name not in self._signs:
                raise InvalidArgument(name, "is no feature of this schema")
        return arrange(names, self._signs)

    def _payload(self, name: str, values: Array) -> bytes:
        field = self.schema.fields[name]
        if values.dtype != DTYPES[field.dtype] or not (field.ragged or len(values) == field.width):
            raise InvalidArgument(name, f"is {values.dtype} [{len(values)}], which its field does not have")
        if field.dtype == "string":
            return b"".join([text.encode() + _END_OF_TEXT for text in values])
        return values.astype(STORED[field.dtype], copy=False).tobytes()


def _unpacked(layout: Layout, data: bytes) -> tuple[dict[str, Array], int]:
    row: dict[str, Array] = {}
    for block in layout.blocks:
        values = np.frombuffer(data, block.dtype, block.count, block.at)
        for name, part in block.parts:
            row[name] = values[part]
    start = layout.varying_at
    for field, size in zip(layout.varying, layout.sizes.unpack_from(data, layout.sizes_at), strict=True):
        if field is None:
            pass
        elif field.dtype is None:
            row[field.name] = _texts(field, data[start : start + size])
        else:
            values = np.frombuffer(data, field.dtype, size // field.dtype.itemsize, start)
            row[field.name] = values if len(values) <= field.longest else values[-field.longest :]
        start += size
    return row, start


def _texts(field: Varying, data: bytes) -> Array:
    texts = data.split(_END_OF_TEXT)
    if texts.pop() or field.width not in (None, len(texts)):
        raise ValueError(f"{field.name} is not the text that is expected")
    texts = texts[-field.longest :]
    values = np.array([text.decode() for text in texts], dtype=object)
    values.setflags(write=False)
    return values
