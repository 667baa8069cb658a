"""`models/<name>/<version>/`: which versions of a model there are, and which of them are there whole."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from navi.models.manifest import what_is_missing

Mark: TypeAlias = tuple[tuple[str, int, int], ...]
"""(path, size, nanoseconds of its last change) of every file: another one as soon as a file changes."""


@dataclass(frozen=True, slots=True)
class FoundVersion:
    """A version's directory. problem: why it is not there whole; empty where it is. mark: of its files, to compare."""

    version: int
    path: Path
    problem: str
    mark: Mark

    @property
    def whole(self) -> bool:
        return not self.problem


def find_versions(directory: Path) -> Mapping[int, FoundVersion]:
    """The versions below a model's directory, in the order of their numbers: 10 stands behind 9.

    A version is a directory with a positive number, without leading zeros, for a name; anything else is not looked at.
    """
    numbers = sorted(number for number in map(_number, _folders(directory)) if number)
    return {number: _found(directory / str(number), number) for number in numbers}


def find_version(directory: Path, number: int) -> FoundVersion | None:
    """One version; None where it has no directory."""
    path = directory / str(number)
    return _found(path, number) if path.is_dir() else None


def newest_whole(found: Mapping[int, FoundVersion]) -> int | None:
    """The highest number of those that are there whole."""
    return max((number for number, version in found.items() if version.whole), default=None)


def _found(path: Path, number: int) -> FoundVersion:
    try:
        return FoundVersion(number, path, what_is_missing(path), _mark(path))
    except OSError as error:  # it is being removed, or written, just now
        return FoundVersion(number, path, str(error), ())


def _folders(directory: Path) -> list[str]:
    try:
        return [entry.name for entry in directory.iterdir() if entry.is_dir()]
    except FileNotFoundError:
        return []


def _number(name: str) -> int:
    """0 for a name that is no version's."""
    return int(name) if name.isascii() and name.isdecimal() and not name.startswith("0") else 0


def _mark(path: Path) -> Mark:
    stats = ((file.relative_to(path).as_posix(), file.stat()) for file in sorted(path.rglob("*")) if file.is_file())
    return tuple((name, stat.st_size, stat.st_mtime_ns) for name, stat in stats)
