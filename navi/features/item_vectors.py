"""One vector an item, made by a model from a table, and the digests that tie it to both."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from navi.core.arrays import F32
from navi.core.errors import BundleError
from navi.features.arrow_column import column_of
from navi.features.arrow_file import ArrowArray, Digest, check_digest, read_batch, write_batch

_FORMAT = "item-vectors/1"
_TABLE, _MODEL, _DIGEST = "navi.table_digest", "navi.model_digest", "navi.digest"


@dataclass(frozen=True, slots=True, eq=False)
class ItemVectors:
    """matrix: float32 [N, D], row i the vector of row i of the table; read-only, in the mapped file.

    table_digest, model_digest: of the `ItemTable` and the model that they were made from.
    """

    matrix: F32
    table_digest: str
    model_digest: str

    @classmethod
    def open(cls, path: Path, *, verify: bool = False) -> "ItemVectors":
        """Map a file that `write_item_vectors` made. `verify` reads it all and recomputes the digest.

        Raises BundleError where it is missing, damaged or of another format version.
        """
        batch, metadata = read_batch(path, format=_FORMAT, keys=(_TABLE, _MODEL, _DIGEST))
        kind = batch.schema.types[0] if batch.num_columns == 1 else None
        if kind is None or not pa.types.is_fixed_size_list(kind) or kind.value_type != pa.float32():
            raise BundleError(f"{path}: is not one column of float32 vectors")
        vectors: ArrowArray = batch.column(0)
        if vectors.null_count or vectors.values.null_count:
            raise BundleError(f"{path}: a vector is missing")
        matrix = column_of(vectors).values
        if verify:
            check_digest(path, metadata[_DIGEST], _digest(matrix))
        return cls(matrix, metadata[_TABLE], metadata[_MODEL])


def write_item_vectors(path: Path, matrix: F32, *, table_digest: str, model_digest: str) -> None:
    """Write vectors float32 [N, D], row by row those of the table; `path` is replaced by rename.

    Raises BundleError where a value is not finite.
    """
    if matrix.dtype != np.float32 or matrix.ndim != 2 or not matrix.shape[1]:
        raise ValueError(f"vectors are float32 [N, D], not {matrix.dtype} {list(matrix.shape)}")
    finite = np.isfinite(matrix).all(axis=1)
    if not finite.all():
        raise BundleError(f"{path}: the vector of row {int((~finite).argmax())} is not finite")
    flat = pa.array(np.ascontiguousarray(matrix).reshape(-1))
    vectors = pa.FixedSizeListArray.from_arrays(flat, matrix.shape[1])
    metadata = {_TABLE: table_digest, _MODEL: model_digest, _DIGEST: _digest(matrix)}
    write_batch(pa.RecordBatch.from_arrays([vectors], names=["vector"]), path, format=_FORMAT, metadata=metadata)


def _digest(matrix: F32) -> str:
    digest = Digest()
    digest.text(f"{_FORMAT} {matrix.shape}")
    digest.array(matrix)
    return digest.hexdigest()
