"""Versions of models on another file system, copied into a local directory before they are loaded."""

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import pyarrow as pa
from pyarrow import fs

from navi.core.errors import ModelError
from navi.models.manifest import MANIFEST_FILE, check_manifest, stated_sizes

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class RepositorySource:
    """`<root>/<name>/<version>/` on a file system that pyarrow opens."""

    uri: str
    files: fs.FileSystem
    root: str

    @classmethod
    def open(cls, uri: str) -> "RepositorySource":
        """uri: `file:///...`, `s3://bucket/...`, `gs://...`; ModelError where pyarrow knows no such file system."""
        try:
            files, root = fs.FileSystem.from_uri(uri)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise ModelError(f"{uri}: is no place for models: {error}") from error
        return cls(uri, files, root.rstrip("/"))

    def versions(self, name: str) -> tuple[int, ...]:
        """The versions of a model that have a manifest there, which is written last; in the order of their numbers."""
        folder = f"{self.root}/{name}"
        try:
            found = self.files.get_file_info(fs.FileSelector(folder, allow_not_found=True))
            names = [info.base_name for info in found if info.type == fs.FileType.Directory]
            numbers = [int(each) for each in names if each.isascii() and each.isdecimal() and not each.startswith("0")]
            manifests = self.files.get_file_info([f"{folder}/{number}/{MANIFEST_FILE}" for number in numbers])
        except (pa.ArrowException, OSError) as error:
            raise ModelError(f"{self.uri}: cannot be listed: {error}") from error
        there = zip(numbers, manifests, strict=True)
        return tuple(sorted(number for number, info in there if info.type == fs.FileType.File))

    def fetch(self, name: str, version: int, models: Path) -> None:
        """Copy a version to `models/<version>`, which is there whole or not at all.

        ModelError where it cannot be read, or is not what its manifest says. Several processes may do so at once.
        """
        draft = models / f".{version}.{os.getpid()}.part"
        shutil.rmtree(draft, ignore_errors=True)
        try:
            found = {target: info for info, target in self._files(f"{self.root}/{name}/{version}")}
            self._copy(f"{self.root}/{name}/{version}/{MANIFEST_FILE}", draft / MANIFEST_FILE)
            for target, size in stated_sizes(draft).items():
                if target not in found or found[target].size < size:
                    raise ModelError(f"{self.uri}: {name} {version} is not there whole: {target} is not")
            for target, info in found.items():
                self._copy(info.path, draft / target)
            check_manifest(draft)
            _put(draft, models / str(version))
        except (pa.ArrowException, OSError) as error:
            raise ModelError(f"{self.uri}: {name} {version} cannot be copied: {error}") from error
        finally:
            shutil.rmtree(draft, ignore_errors=True)

    def _files(self, folder: str) -> Iterator[tuple[fs.FileInfo, str]]:
        """All files below a folder, with their paths relative to it."""
        for info in self.files.get_file_info(fs.FileSelector(folder, recursive=True)):
            if info.type == fs.FileType.File:
                yield info, PurePosixPath(info.path).relative_to(folder).as_posix()

    def _copy(self, source: str, target: Path) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        with self.files.open_input_stream(source) as stream, target.open("wb") as file:
            while chunk := stream.read(_CHUNK):
                file.write(chunk)


def _put(draft: Path, path: Path) -> None:
    try:
        draft.rename(path)
    except OSError:
        if not path.is_dir():  # or another process was quicker
            raise
