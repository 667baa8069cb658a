"""From any Arrow type that people keep items in to the few that item tables are stored as (see `arrow_column`)."""

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from navi.core.arrays import Mask
from navi.core.column import Column
from navi.core.errors import BundleError
from navi.core.ragged import offsets_of
from navi.features.arrow_column import TEXT, column_of, valid_of
from navi.features.arrow_file import ArrowArray

_TAKEN = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_timestamp)


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


def columns_of(batch: pa.RecordBatch, names: Iterable[str]) -> dict[str, Column]:
    """Columns of any Arrow batch (of Parquet, say), by name; BundleError, naming it, for one that is not taken."""
    columns = {}
    for name in names:
        check_type(name, batch.schema.field(name).type)
        columns[name] = column_of(normalised(name, batch.column(name)))
    return columns


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
