"""Between Arrow arrays and `Column`: the few Arrow types that item tables are stored as.

Stored types: int64, float32, bool, text as dictionary<int32, large_string>, and lists of these (large_list, or
fixed_size_list). Missing slots hold zeros (text: nulls), so that equal content has equal bytes.
"""

from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from navi.core.arrays import I64, Array, Mask
from navi.core.column import Column
from navi.core.errors import BundleError
from navi.core.ids import Ids
from navi.core.ragged import offsets_of
from navi.features.arrow_file import ArrowArray, Digest

TEXT = pa.dictionary(pa.int32(), pa.large_string())
_TAKEN = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_timestamp)
_NUMBERS = {pa.int64(): np.int64, pa.float32(): np.float32}


def check_type(name: str, kind: pa.DataType) -> None:
    """BundleError, naming the column, for an Arrow type that `normalised` does not take."""
    element: pa.DataType = kind
    if pa.types.is_fixed_size_list(kind) or pa.types.is_list(kind) or pa.types.is_large_list(kind):
        element = kind.value_type
    if pa.types.is_dictionary(element):
        element = element.value_type
    if not (_is_text(element) or any(test(element) for test in _TAKEN)):
        raise BundleError(f"column {name!r}: {kind} is not taken (numbers, bool, timestamps, text, lists of these are)")


def normalised(name: str, array: ArrowArray) -> ArrowArray:
    """`array`, whose type is checked, as one of the stored types; BundleError for a value that cannot be held.

    A row is missing where it is null or NaN, or a list that holds either. Integers and timestamps (whole seconds
    since the epoch, rounded down; UTC where no zone is given) become int64, floating point float32.
    """
    if pa.types.is_fixed_size_list(array.type):
        return _fixed_list(name, array)
    if pa.types.is_list(array.type) or pa.types.is_large_list(array.type):
        return _ragged(name, array)
    return _leaf(name, array)


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


def _leaf(name: str, array: ArrowArray) -> ArrowArray:
    kind = array.type
    if pa.types.is_dictionary(kind):
        array = array.dictionary_decode()
        kind = array.type
    if _is_text(kind):
        return array.cast(pa.large_string()).dictionary_encode().cast(TEXT)
    if pa.types.is_boolean(kind):
        return _zeroed(array)
    if pa.types.is_integer(kind):
        return _zeroed(_cast(name, array, pa.int64()))
    if pa.types.is_timestamp(kind):
        return _seconds(array)
    return _float(name, array)


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or kind == pa.string_view()


def _cast(name: str, array: ArrowArray, kind: pa.DataType) -> ArrowArray:
    try:
        return array.cast(kind)
    except pa.ArrowInvalid as error:
        raise BundleError(f"column {name!r}: a value does not fit {kind} ({error})") from error


def _seconds(array: ArrowArray) -> ArrowArray:
    ticks = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[array.type.unit]
    whole = array.cast(pa.int64())
    seconds = whole.fill_null(0).to_numpy(zero_copy_only=False) // ticks
    return _masked(pa.array(seconds), valid_of(whole))


def _float(name: str, array: ArrowArray) -> ArrowArray:
    values = array.to_numpy(zero_copy_only=False)  # NaN where null
    missing = np.isnan(values)
    with np.errstate(over="ignore"):
        narrow = values.astype(np.float32)
    infinite = np.isinf(narrow)
    if infinite.any():
        raise BundleError(f"column {name!r}: {values[infinite.argmax()]} is infinite, or too large for float32")
    narrow[missing] = 0.0
    return _masked(pa.array(narrow), ~missing if missing.any() else None)


def _zeroed(array: ArrowArray) -> ArrowArray:
    """The same array, zero where it is null."""
    return _masked(array.fill_null(False if array.type == pa.bool_() else 0), valid_of(array))


def _masked(values: ArrowArray, valid: Mask | None) -> ArrowArray:
    """`values` (a number or bool array without nulls), null where not valid; slots keep what they hold."""
    if valid is None:
        return values
    bits = pa.array(valid).buffers()[1]
    return pa.Array.from_buffers(values.type, len(values), [bits, values.buffers()[1]], offset=values.offset)


def _fixed_list(name: str, array: ArrowArray) -> ArrowArray:
    width = array.type.list_size
    if width == 0:
        raise BundleError(f"column {name!r}: lists of length 0 hold nothing")
    present = _present(array)
    leaf = _leaf(name, array.flatten())  # lists that are null have no values in it
    valid = present.copy()
    valid[present] = _present(leaf).reshape(-1, width).all(axis=1)
    slots = np.zeros(len(array) * width, np.int64)
    slots[np.repeat(present, width)] = np.arange(len(leaf))
    filled = leaf.take(pa.array(slots, mask=~np.repeat(valid, width)))
    return pa.FixedSizeListArray.from_arrays(_without_nulls(name, filled), width, mask=_nulls(valid))


def _ragged(name: str, array: ArrowArray) -> ArrowArray:
    present = _present(array)
    leaf = _leaf(name, array.flatten())
    lengths = pc.list_value_length(array).fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    owner, valid = np.repeat(np.arange(len(array)), lengths), present.copy()
    valid[owner[~_present(leaf)]] = False
    lengths[~valid] = 0
    kept = _without_nulls(name, leaf.filter(pa.array(valid[owner])))
    offsets: ArrowArray = pa.array(offsets_of(lengths))
    return pa.LargeListArray.from_arrays(offsets, kept, mask=_nulls(valid))


def _without_nulls(name: str, leaf: ArrowArray) -> ArrowArray:
    """Zeros for nulls (text keeps its nulls), and a dictionary of only what is used."""
    return _leaf(name, leaf) if leaf.type == TEXT else leaf.fill_null(False if leaf.type == pa.bool_() else 0)


def _nulls(valid: Mask) -> ArrowArray | None:
    return None if valid.all() else pa.array(~valid)


def _present(array: ArrowArray) -> Mask:
    valid = valid_of(array)
    return np.ones(len(array), dtype=np.bool_) if valid is None else valid.copy()
