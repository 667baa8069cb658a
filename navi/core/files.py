"""Files that are there whole or not at all, and digests of them."""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import get_ident


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A name beside `path` to write to; it takes `path`'s place by rename, or is removed where the block fails."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{get_ident()}.tmp")
    try:
        yield temporary
        os.replace(temporary, path)
        _sync_directory(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file's bytes, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
