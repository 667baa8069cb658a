"""The known values of a categorical feature, numbered for an embedding table."""

from pathlib import Path

import numpy as np
import pyarrow as pa

from navi.core.arrays import I64, Array
from navi.core.column import DType
from navi.core.errors import BundleError
from navi.core.ids import Ids
from navi.features.arrow_column import column_of, digest_array, text_ids
from navi.features.arrow_file import ArrowArray, Digest, check_digest, read_batch, write_batch
from navi.ops.id_index import IdIndex

_FORMAT = "vocabulary/1"
_DIGEST = "navi.digest"
_OBJECT, _INT64 = np.dtype(object), np.dtype(np.int64)


class Vocabulary:
    """Values in the order given: the one at position i has code i + 1, an unknown value has code 0.

    Raises ValueError naming a value that is repeated. Safe to use from many threads.
    """

    __slots__ = ("_index", "values")

    def __init__(self, values: Ids) -> None:
        self.values = values
        self._index = IdIndex(values)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def size(self) -> int:
        """How many codes there are, 0 among them: the rows of an embedding table."""
        return len(self.values) + 1

    @property
    def dtype(self) -> DType:
        """The features that it numbers: int64 or string."""
        return "string" if self.values.is_text else "int64"

    def encode(self, values: Array) -> I64:
        """Codes int64 [n] of values [n]: int64, or object holding `str`, as `dtype` says; TypeError for any other."""
        codes = self._index.lookup(text_of(values) if self.values.is_text else _integers(values))
        codes += 1
        return codes

    def save(self, path: Path) -> str:
        """Write to an Arrow file, replaced by rename; the SHA-256 of the values in their order."""
        array = _array(self.values)
        digest = _digest(array)
        batch = pa.RecordBatch.from_arrays([array], names=["value"])
        write_batch(batch, path, format=_FORMAT, metadata={_DIGEST: digest})
        return digest

    @classmethod
    def load(cls, path: Path) -> "Vocabulary":
        """What `save` wrote; BundleError where it is missing, damaged, or a value is repeated."""
        batch, metadata = read_batch(path, format=_FORMAT, keys=(_DIGEST,))
        array = batch.column(0) if batch.num_columns == 1 else None
        if array is None or array.null_count or array.type not in (pa.int64(), pa.large_string()):
            raise BundleError(f"{path}: is not one column of int64 or large_string values without nulls")
        check_digest(path, metadata[_DIGEST], _digest(array))
        try:
            return cls(text_ids(array) if array.type == pa.large_string() else Ids(column_of(array).values))
        except ValueError as error:
            raise BundleError(f"{path}: {error}") from error


def text_of(values: Array) -> Ids:
    """Object [n] holding `str` as ids; TypeError for any other."""
    if values.dtype != _OBJECT or values.ndim != 1:
        raise TypeError(f"values are {values.dtype} {list(values.shape)}, where strings [n] are expected")
    if len(values) == 1 and isinstance(values[0], str):  # a request's feature: Arrow takes four times as long
        data = np.frombuffer(values[0].encode(), np.uint8)
        return Ids(data, np.array([0, len(data)]))
    array = pa.array(values, pa.large_string())
    if array.null_count:
        raise TypeError("None is no string: a missing value is marked by `Column.valid`")
    return text_ids(array)


def _integers(values: Array) -> Ids:
    if values.dtype != _INT64 or values.ndim != 1:
        raise TypeError(f"values are {values.dtype} {list(values.shape)}, where int64 [n] are expected")
    return Ids(values)


def _array(values: Ids) -> ArrowArray:
    if values.offsets is None:
        return pa.array(values.values)
    buffers = [None, pa.py_buffer(values.offsets.data), pa.py_buffer(values.values.data)]
    return pa.Array.from_buffers(pa.large_string(), len(values), buffers)


def _digest(array: ArrowArray) -> str:
    digest = Digest()
    digest.text(_FORMAT)
    digest_array(digest, array)
    return digest.hexdigest()
