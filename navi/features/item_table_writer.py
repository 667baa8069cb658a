"""Makes the file of an `ItemTable` from Parquet, Arrow or Feather, once, so that serving only maps it."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from navi.core.arrays import Mask
from navi.core.errors import BundleError
from navi.features.arrow_column import digest_array
from navi.features.arrow_file import ArrowArray, Digest, write_batch
from navi.features.arrow_normalise import check_type, normalised

FORMAT = "item-table/1"
KEY = "navi.key"
DIGEST = "navi.digest"


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemTableInfo:
    """What was written. digest: SHA-256 of key name, column names, types and values."""

    path: Path
    rows: int
    columns: tuple[str, ...]
    digest: str


def write_item_table(source: Path | pa.Table, path: Path, *, key: str) -> ItemTableInfo:
    """Write the items of `source` (a Parquet, Arrow or Feather file, or a table) to `path`, sorted by id.

    Order: int64 order, or UTF-8 byte order. The whole table is held in memory meanwhile. A value is missing where it is
    null or NaN (see `arrow_normalise` for types). `path` is replaced by rename.
    Raises BundleError naming the column or id: for an unreadable source, a column type that is not taken, an infinite
    value, and ids that are missing, repeated, or neither integers nor text.
    """
    batch = _sorted_batch(source if isinstance(source, pa.Table) else _read(source), key)
    digest = table_digest(batch, key)
    write_batch(batch, path, format=FORMAT, metadata={KEY: key, DIGEST: digest})
    return ItemTableInfo(path=path, rows=batch.num_rows, columns=tuple(batch.schema.names), digest=digest)


def table_digest(batch: pa.RecordBatch, key: str) -> str:
    """The digest of a table as it is stored: equal for equal content, whatever the source was."""
    digest = Digest()
    digest.text(FORMAT)
    digest.text(key)
    for name, array in zip(batch.schema.names, batch.columns, strict=True):
        digest.text(name)
        digest_array(digest, array)
    return digest.hexdigest()


def first_out_of_order(ids: ArrowArray) -> int | None:
    """First position whose id is not above the one before it; None where ids rise throughout."""
    rising = pc.less(ids[:-1], ids[1:]).to_numpy(zero_copy_only=False) if len(ids) > 1 else np.ones(0, np.bool_)
    return None if rising.all() else int((~rising).argmax()) + 1


def _read(path: Path) -> pa.Table:
    try:
        with open(path, "rb") as file:
            magic = file.read(6)
        if magic[:4] == b"PAR1":
            return pq.read_table(path)
        if magic == b"ARROW1":
            return pa.ipc.open_file(pa.memory_map(str(path))).read_all()
    except (OSError, ValueError, pa.ArrowException) as error:
        raise BundleError(f"{path}: cannot be read ({error})") from error
    raise BundleError(f"{path}: is neither Parquet nor Arrow (Feather)")


def _sorted_batch(table: pa.Table, key: str) -> pa.RecordBatch:
    names = table.column_names
    repeated = {name for name in names if names.count(name) > 1}
    if repeated:
        raise BundleError(f"column {sorted(repeated)[0]!r} is there twice")
    if key not in names:
        raise BundleError(f"key column {key!r} is missing; columns: {', '.join(names)}")
    ids = _ids(key, _one_array(table[key]))
    order = pc.sort_indices(ids)
    ids = ids.take(order)
    _check_unique(key, ids)
    arrays = [ids if name == key else _stored(name, table[name], order) for name in names]
    return pa.RecordBatch.from_arrays(arrays, names=names)


def _stored(name: str, column: ArrowArray, order: ArrowArray) -> ArrowArray:
    check_type(name, column.type)
    return normalised(name, _one_array(column).take(order))


def _ids(key: str, array: ArrowArray) -> ArrowArray:
    kind = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
    if array.null_count:
        missing: Mask = array.is_null().to_numpy(zero_copy_only=False)
        raise BundleError(f"key column {key!r}: the id of row {int(missing.argmax())} is null")
    if pa.types.is_integer(kind):
        target: pa.DataType = pa.int64()
    elif pa.types.is_string(kind) or pa.types.is_large_string(kind):
        target = pa.large_string()
    else:
        raise BundleError(f"key column {key!r}: ids are integers or text, not {array.type}")
    try:
        return array.cast(target)
    except pa.ArrowInvalid as error:
        raise BundleError(f"key column {key!r}: an id does not fit 64 bits ({error})") from error


def _check_unique(key: str, ids: ArrowArray) -> None:
    position = first_out_of_order(ids)
    if position is not None:
        raise BundleError(f"key column {key!r}: id {ids[position].as_py()!r} is there more than once")


def _one_array(column: ArrowArray) -> ArrowArray:
    """All of a column as one array; text with 64-bit offsets, so that it may pass 2 GiB."""
    if pa.types.is_string(column.type) or column.type == pa.string_view():
        column = column.cast(pa.large_string())
    combined = column.combine_chunks()
    return combined if isinstance(combined, pa.Array) else pa.concat_arrays(combined.chunks)
