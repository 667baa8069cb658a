"""A corpus' items as resident columns: one memory-mapped Arrow file, keyed by id."""

from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from navi.core.arrays import I64
from navi.core.column import Column
from navi.core.errors import BundleError, InvalidArgument, NotFound
from navi.core.ids import Ids
from navi.features.arrow_column import TEXT, codes_of, column_of, is_stored, text_ids, texts_of
from navi.features.arrow_file import ArrowArray, check_digest, read_batch
from navi.features.item_table_writer import DIGEST, FORMAT, KEY, first_out_of_order, table_digest
from navi.ops.id_index import IdIndex

Codes = tuple[npt.NDArray[np.int32], tuple[str, ...]]


@dataclass(frozen=True, slots=True, eq=False)
class ItemTable:
    """Items in id order: row numbers rise with ids (int64 order, or UTF-8 byte order). Safe to use from many threads.

    key: name of the id column. digest: SHA-256 of the content. ids: [n], ids[row].
    """

    key: str
    digest: str
    ids: Ids
    _batch: pa.RecordBatch
    _index: IdIndex
    _columns: dict[str, Column] = field(default_factory=dict)
    _codes: dict[str, Codes] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    @classmethod
    def open(cls, path: Path, *, verify: bool = False) -> "ItemTable":
        """Map a file that `write_item_table` made. `verify` reads it all and recomputes the digest.

        Raises BundleError where it is missing, damaged, of another format version, or its ids do not rise.
        """
        batch, metadata = read_batch(path, format=FORMAT, keys=(KEY, DIGEST))
        key, digest = metadata[KEY], metadata[DIGEST]
        ids = _check_columns(path, batch, key)
        if verify:
            check_digest(path, digest, table_digest(batch, key))
        return cls(key, digest, ids, batch, IdIndex(ids))

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of all columns, the key's among them."""
        return tuple(self._batch.schema.names)

    def lookup(self, ids: Ids) -> I64:
        """Row numbers int64 [m] of `ids`, -1 where unknown; InvalidArgument for text where ids are integers, or the
        other way round."""
        if ids.is_text != self.ids.is_text:
            if not len(ids):
                return np.empty(0, dtype=np.int64)
            kind, expected = ("text", "integers") if ids.is_text else ("integers", "text")
            raise InvalidArgument("ids", f"are {kind}, where this table's ids are {expected}")
        return self._index.lookup(ids)

    def column(self, name: str) -> Column:
        """A column, resident and read-only, one row an item; NotFound for an unknown name.

        Numbers, and lists of them, lie in the mapped file; booleans and text are unpacked at the first call.
        """
        known = self._columns.get(name)
        if known is not None:
            return known
        with self._lock:
            if name not in self._columns:
                self._columns[name] = _read_only(self._column(name))
            return self._columns[name]

    def take(self, name: str, rows: I64) -> Column:
        """A few rows of a column (int64 [m], none negative), in that order; nothing else of it is unpacked or kept.

        NotFound for an unknown name.
        """
        known = self._columns.get(name)
        if known is not None:
            return known.take(rows)
        if name == self.key:
            ids = self.ids.take(rows)
            return Column(np.array([*ids.tolist(), ""], dtype=object)[:-1] if ids.is_text else ids.values)
        return column_of(self._array(name).take(pa.array(rows, pa.int64())))

    def codes(self, name: str) -> Codes:
        """A text column by dictionary: (codes int32 [n], -1 where missing; distinct values); built at the first call.

        For a column of lists, codes are those of the flat values that `column(name).offsets` bounds.
        NotFound for an unknown name, InvalidArgument for a column that is not text.
        """
        known = self._codes.get(name)
        if known is not None:
            return known
        array = self._array(name)
        with self._lock:
            if name not in self._codes:
                self._codes[name] = _codes(name, array)
            return self._codes[name]

    def _array(self, name: str) -> ArrowArray:
        if name not in self.columns:
            raise NotFound("item column", name, self.columns)
        return self._batch.column(name)

    def _column(self, name: str) -> Column:
        array = self._array(name)
        if name != self.key:
            return column_of(array)
        return Column(np.array(texts_of(array), dtype=object) if self.ids.is_text else self.ids.values)


def _check_columns(path: Path, batch: pa.RecordBatch, key: str) -> Ids:
    """The ids, once every column is known to be one that we write."""
    names = batch.schema.names
    if names.count(key) != 1 or len(set(names)) != len(names):
        raise BundleError(f"{path}: key column {key!r} is missing, or a column is there twice")
    for name, array in zip(names, batch.columns, strict=True):
        if name != key and not is_stored(array.type):
            raise BundleError(f"{path}: column {name!r} has type {array.type}, which no item table is stored with")
    array = batch.column(key)
    if array.null_count or array.type not in (pa.int64(), pa.large_string()):
        raise BundleError(f"{path}: key column {key!r} must be int64 or large_string without nulls")
    position = first_out_of_order(array)
    if position is not None:
        raise BundleError(f"{path}: id {array[position].as_py()!r} is repeated or out of order")
    return text_ids(array) if array.type == pa.large_string() else Ids(column_of(array).values)


def _codes(name: str, array: ArrowArray) -> Codes:
    if pa.types.is_large_list(array.type) or pa.types.is_fixed_size_list(array.type):
        array = array.values
    if array.type == pa.large_string():
        return np.arange(len(array), dtype=np.int32), tuple(texts_of(array))
    if array.type != TEXT:
        raise InvalidArgument(name, f"is {array.type}, where a text column is expected")
    codes = codes_of(array)
    codes.setflags(write=False)
    return codes, tuple(texts_of(array.dictionary))


def _read_only(column: Column) -> Column:
    column.values.setflags(write=False)
    if column.valid is not None:
        column.valid.setflags(write=False)
    return column
