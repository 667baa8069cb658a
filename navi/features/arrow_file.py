"""Arrow IPC files of one uncompressed batch: how tables, vectors and vocabularies lie on disk."""

import hashlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from navi.core.arrays import Array
from navi.core.errors import BundleError
from navi.core.files import replacing

ArrowArray: TypeAlias = Any
"""A `pyarrow.Array`; the stubs have no type for one whose kind is known at run time only."""

FORMAT = "navi.format"
"""Metadata key for kind and version: `item-table/1`."""


class Digest:
    """SHA-256 of named parts, each with its length, so that no two contents run together."""

    __slots__ = ("_hash",)

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def text(self, value: str) -> None:
        self._bytes(value.encode())

    def array(self, values: Array) -> None:
        self._bytes(np.ascontiguousarray(values).reshape(-1).view(np.uint8).data)

    def _bytes(self, data: bytes | memoryview) -> None:
        self._hash.update(len(data).to_bytes(8, "little"))
        self._hash.update(data)

    def hexdigest(self) -> str:
        return self._hash.hexdigest()


def write_batch(batch: pa.RecordBatch, path: Path, *, format: str, metadata: Mapping[str, str]) -> None:  # noqa: A002
    """Write `batch` with its metadata; readers see the old file or the whole new one, also after a power cut."""
    schema = batch.schema.with_metadata({FORMAT: format, **metadata})
    with replacing(path) as temporary:
        with open(temporary, "wb") as file:
            with pa.ipc.new_file(file, schema) as writer:
                writer.write_batch(batch.replace_schema_metadata(schema.metadata))
            file.flush()
            os.fsync(file.fileno())


def read_batch(path: Path, *, format: str, keys: Iterable[str]) -> tuple[pa.RecordBatch, dict[str, str]]:  # noqa: A002
    """The batch, memory-mapped, and its metadata, which holds `keys`.

    Raises BundleError where the file is missing, damaged, or not of this format.
    """
    try:
        reader = pa.ipc.open_file(pa.memory_map(str(path)))
        metadata = {name.decode(): value.decode() for name, value in (reader.schema.metadata or {}).items()}
        check_format(path, metadata.get(FORMAT), format)
        if reader.num_record_batches != 1:
            raise BundleError(f"{path}: has {reader.num_record_batches} batches, where one is expected")
        batch = reader.get_batch(0)
        batch.validate(full=True)
    except (OSError, ValueError, pa.ArrowException) as error:
        raise BundleError(f"{path}: cannot be read, is missing or damaged ({error})") from error
    missing = [key for key in keys if key not in metadata]
    if missing:
        raise BundleError(f"{path}: metadata {', '.join(missing)} is missing")
    return batch, metadata


def check_format(path: Path, found: str | None, expected: str) -> None:
    """BundleError unless the file is of this kind and version."""
    if found == expected:
        return
    kind, _, version = expected.partition("/")
    if found is not None and found.partition("/")[0] == kind:
        theirs = found.partition("/")[2]
        raise BundleError(
            f"{path}: has {kind} format version {theirs}; this Navi reads version {version}: write it again"
        )
    raise BundleError(f"{path}: is no {kind} file of Navi (its {FORMAT} is {found!r})")


def check_digest(path: Path, stated: str, computed: str) -> None:
    """BundleError unless the content is what was written."""
    if stated != computed:
        raise BundleError(
            f"{path}: content has digest {computed[:12]}, but the file states {stated[:12]}: it is damaged"
        )
