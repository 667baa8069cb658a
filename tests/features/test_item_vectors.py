"""Vectors of items keep the digests of what they were made from."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from navi.core.errors import BundleError
from navi.features.item_vectors import ItemVectors, write_item_vectors


def test_vectors_come_back_without_a_copy_and_with_their_digests(tmp_path: Path) -> None:
    matrix = np.arange(12, dtype=np.float32).reshape(4, 3)
    write_item_vectors(tmp_path / "v.arrow", matrix, table_digest="t", model_digest="m")
    vectors = ItemVectors.open(tmp_path / "v.arrow", verify=True)
    assert (vectors.table_digest, vectors.model_digest) == ("t", "m")
    np.testing.assert_array_equal(vectors.matrix, matrix)
    assert vectors.matrix.dtype == np.float32
    assert vectors.matrix.flags.c_contiguous
    assert not vectors.matrix.flags.owndata
    assert not vectors.matrix.flags.writeable


@pytest.mark.parametrize("shape", [(0, 3), (1, 1)])
def test_few_vectors_are_vectors(tmp_path: Path, shape: tuple[int, int]) -> None:
    write_item_vectors(tmp_path / "v.arrow", np.ones(shape, np.float32), table_digest="t", model_digest="m")
    assert ItemVectors.open(tmp_path / "v.arrow", verify=True).matrix.shape == shape


def test_a_strided_matrix_is_written_row_by_row(tmp_path: Path) -> None:
    matrix = np.arange(12, dtype=np.float32).reshape(3, 4).T
    write_item_vectors(tmp_path / "v.arrow", matrix, table_digest="t", model_digest="m")
    np.testing.assert_array_equal(ItemVectors.open(tmp_path / "v.arrow", verify=True).matrix, matrix)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_vector_that_is_not_finite_is_refused_by_row(tmp_path: Path, bad: float) -> None:
    matrix = np.ones((3, 2), np.float32)
    matrix[1, 1] = bad
    with pytest.raises(BundleError, match="the vector of row 1 is not finite"):
        write_item_vectors(tmp_path / "v.arrow", matrix, table_digest="t", model_digest="m")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("matrix", [np.ones((2, 2)), np.ones(3, np.float32), np.ones((3, 0), np.float32)])
def test_anything_but_a_float32_matrix_is_a_mistake_of_the_caller(tmp_path: Path, matrix: np.ndarray) -> None:
    with pytest.raises(ValueError, match=r"vectors are float32 \[N, D\]"):
        write_item_vectors(tmp_path / "v.arrow", matrix, table_digest="t", model_digest="m")


def test_damage_is_found(tmp_path: Path) -> None:
    path = tmp_path / "v.arrow"
    write_item_vectors(path, np.full((4, 2), 1.25, np.float32), table_digest="t", model_digest="m")
    whole = bytearray(path.read_bytes())
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(BundleError, match="cannot be read"):
        ItemVectors.open(path)
    whole[whole.find(np.float32(1.25).tobytes() * 8)] ^= 1
    path.write_bytes(whole)
    with pytest.raises(BundleError, match="it is damaged"):
        ItemVectors.open(path, verify=True)


@pytest.mark.parametrize("column", [pa.array([1.0]), pa.array([None], pa.list_(pa.float32(), 2))])
def test_a_file_with_other_content_is_refused(tmp_path: Path, column: pa.Array) -> None:
    batch = pa.record_batch({"vector": column}).replace_schema_metadata(
        {"navi.format": "item-vectors/1", "navi.table_digest": "t", "navi.model_digest": "m", "navi.digest": "d"}
    )
    with pa.ipc.new_file(str(tmp_path / "v.arrow"), batch.schema) as writer:
        writer.write_batch(batch)
    with pytest.raises(BundleError, match="vector"):
        ItemVectors.open(tmp_path / "v.arrow")
