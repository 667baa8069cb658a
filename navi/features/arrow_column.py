"""From the few Arrow types that item tables are stored as to `Column`, without a copy of numbers.

Stored types: int64, float32, bool, text as dictionary<int32, large_string>, and lists of these (large_list, or
fixed_size_list). Missing slots hold zeros (text: nulls), so that equal content has equal bytes.
"""

from typing import cast

import numpy as np
import pyarrow as pa

from navi.core.arrays import I64, Array, Mask
from navi.core.column import Column
from navi.core.ids import Ids
from navi.features.arrow_file import ArrowArray, Digest

TEXT = pa.dictionary(pa.int32(), pa.large_string())
_NUMBERS = {pa.int64(): np.int64, pa.float32(): np.float32}


def is_stored(kind: pa.DataType) -> bool:
    """Whether item tables are stored with this Arrow type."""
    if pa.types.is_fixed_size_list(kind) or pa.types.is_large_list(kind):
        kind = kind.value_type
    return kind in _NUMBERS or kind in (pa.bool_(), TEXT)


def column_of(array: ArrowArray) -> Column:
    """A stored array as a column: numbers without a copy, booleans and text with one."""
    valid = valid_of(array)
    if pa.types.is_fixed_size_list(array.type):
        values = _flat(array.values)[: len(array) * array.type.list_size]
        return Column(values.reshape(len(array), array.type.list_size), valid=valid)
    if pa.types.is_large_list(array.type):
        return Column(_flat(array.values), list_offsets(array), valid)
    return Column(_flat(array), valid=valid)


def codes_of(array: ArrowArray) -> Array:
    """Positions in the array's dictionary, int32 [n], -1 where missing; without a copy where none is."""
    indices = array.indices
    filled = indices.fill_null(-1) if indices.null_count else indices
    return _buffer(filled, np.int32)


def texts_of(dictionary: ArrowArray) -> list[str]:
    return cast("list[str]", dictionary.to_pylist())


def text_ids(array: ArrowArray) -> Ids:
    """A large_string array without nulls as ids, without a copy."""
    _, offsets, data = array.buffers()
    if not len(array):
        return Ids.empty(text=True)
    bounds = np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1]
    return Ids(np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8), bounds)


def list_offsets(array: ArrowArray) -> I64:
    if not len(array):
        return np.zeros(1, np.int64)
    return np.frombuffer(array.buffers()[1], np.int64)[array.offset : array.offset + len(array) + 1]


def valid_of(array: ArrowArray) -> Mask | None:
    if not array.null_count:
        return None
    return cast("Mask", array.is_valid().to_numpy(zero_copy_only=False))


def digest_array(digest: Digest, array: ArrowArray) -> None:
    """Add a stored (or large_string) array's type and content."""
    digest.text(f"{array.type} {len(array)}")
    valid = valid_of(array)
    digest.array(np.packbits(valid) if valid is not None else np.empty(0, np.uint8))
    if pa.types.is_fixed_size_list(array.type):
        digest_array(digest, array.values)
    elif pa.types.is_large_list(array.type):
        digest.array(list_offsets(array))
        digest_array(digest, array.values)
    elif array.type == TEXT:
        digest.array(codes_of(array))
        digest_array(digest, array.dictionary)
    elif array.type == pa.large_string():
        ids = text_ids(array)
        assert ids.offsets is not None
        digest.array(np.diff(ids.offsets))
        digest.array(ids.values[ids.offsets[0] : ids.offsets[-1]])
    else:
        digest.array(_flat(array))


def _flat(array: ArrowArray) -> Array:
    """Values of a stored leaf: int64, float32, bool or object [n]."""
    if array.type == TEXT:
        if len(array) < len(array.dictionary):  # a few rows of a column: unpack only what they hold
            return np.array(texts_of(array.dictionary_decode().fill_null("")), dtype=object)
        texts = np.array([*texts_of(array.dictionary), ""], dtype=object)
        return texts[codes_of(array)]
    if array.type == pa.bool_():
        filled = array.fill_null(False) if array.null_count else array
        return cast("Array", filled.to_numpy(zero_copy_only=False))
    return _buffer(array, _NUMBERS[array.type])


def _buffer(array: ArrowArray, dtype: type) -> Array:
    data = array.buffers()[1]
    if not len(array) or data is None:
        return np.empty(0, dtype)
    return np.frombuffer(data, dtype)[array.offset : array.offset + len(array)]
