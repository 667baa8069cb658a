"""What an ONNX file says before it is opened: which other files it wants, and which dimensions an exporter left at 0.

The file is walked where it lies, without the `onnx` package: serving needs none, and weights are not copied.
Field numbers are those of onnx.proto3 (https://github.com/onnx/onnx/blob/main/onnx/onnx.proto3), which never change.
"""

import mmap
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath, PureWindowsPath

from navi.core.errors import ModelError

# Message -> field -> the message in it. Fields that lead to no tensor are passed over.
_TREE: Mapping[str, Mapping[int, str]] = {
    "model": {7: "main", 20: "training", 25: "function"},
    "main": {1: "node", 5: "tensor", 11: "input", 15: "sparse"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "training": {1: "graph", 2: "graph"},
    "function": {7: "node", 11: "attribute"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
    "tensor": {13: "entry"},
    "input": {2: "type"},
    "type": {1: "tensor type"},
    "tensor type": {2: "shape"},
    "shape": {1: "dimension"},
}
_DEEPEST = 100
"""Protobuf's own limit of nested messages."""

# Numbers with tags of one byte, as many as follow each other: a forest of trees has millions.
_NUMBERS = re.compile(
    rb"(?:[\x08\x10\x18\x20\x28\x30\x38\x40\x48\x50\x58\x60\x68\x70\x78][\x80-\xff]{0,9}[\x00-\x7f]"
    rb"|[\x0d\x15\x1d\x25\x2d\x35\x3d\x45\x4d\x55\x5d\x65\x6d\x75\x7d].{4}"
    rb"|[\x09\x11\x19\x21\x29\x31\x39\x41\x49\x51\x59\x61\x69\x71\x79].{8})++",
    re.DOTALL,
)
_VARINT = re.compile(rb"[\x80-\xff]{0,9}[\x00-\x7f]")
_SIZE_ZERO, _SIZE_UNNAMED = b"\x08\x00", b"\x12\x00"
"""A dimension of size 0, and one whose name is empty: the same number of bytes."""


@dataclass(slots=True)
class _Found:
    locations: list[str] = field(default_factory=list)
    zeros: list[int] = field(default_factory=list)


def source_of(path: Path) -> Path | bytes:
    """What to open: the file itself or, where an input has a dimension of 0, its bytes with that dimension free.

    Raises ModelError where the file is no ONNX, or where its weights lie in files that are missing or not below its own
    directory.
    """
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            found = _Found()
            _walk(data, "model", (0, len(data)), found, 0)
            for location in dict.fromkeys(found.locations):
                _check_location(path, location)
            return _freed(data, found.zeros) if found.zeros else path
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error}") from error
    except ValueError as error:  # of mmap, for an empty file
        raise ModelError(f"{path} is no ONNX file: {error}") from error


def _freed(data: mmap.mmap, zeros: list[int]) -> bytes:
    changed = bytearray(data)
    for start in zeros:
        changed[start : start + 2] = _SIZE_UNNAMED
    return bytes(changed)


def _check_location(path: Path, location: str) -> None:
    parts = PurePosixPath(location)
    outside = parts.is_absolute() or PureWindowsPath(location).drive or ".." in parts.parts or "\\" in location
    directory = path.parent.resolve()
    if outside or not (directory / location).resolve().is_relative_to(directory):
        raise ModelError(f"{path}: external data {location!r} is not below the model's directory")
    if not (directory / location).is_file():
        raise ModelError(f"{path}: external data {location!r} is missing")


def _walk(data: mmap.mmap, message: str, span: tuple[int, int], found: _Found, depth: int) -> None:
    if depth > _DEEPEST:
        raise ValueError(f"messages are nested more than {_DEEPEST} deep")
    if message == "entry":
        found.locations += _location(data, span)
    elif message == "dimension":
        if data[slice(*span)] == _SIZE_ZERO:
            found.zeros.append(span[0])
    else:
        inside = _TREE[message]
        for number, start, end in _parts(data, *span):
            if number in inside:
                _walk(data, inside[number], (start, end), found, depth + 1)


def _location(data: mmap.mmap, span: tuple[int, int]) -> list[str]:
    texts = {number: data[start:end].decode() for number, start, end in _parts(data, *span)}
    return [texts.get(2, "")] if texts.get(1) == "location" else []


def _parts(data: mmap.mmap, position: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Fields of variable length in a message: number, start and end; ValueError where bytes are no message."""
    while position < end:
        if numbers := _NUMBERS.match(data, position, end):
            position = numbers.end()
            continue
        tag, position = _varint(data, position, end)
        size = {0: None, 1: 8, 2: None, 5: 4}.get(tag & 7, -1)
        if size is None:
            size, position = _varint(data, position, end)
            if tag & 7 == 0:
                continue
        if size < 0 or position + size > end:
            raise ValueError(f"damaged at byte {position}")
        if tag & 7 == 2:
            yield tag >> 3, position, position + size
        position += size


def _varint(data: mmap.mmap, position: int, end: int) -> tuple[int, int]:
    found = _VARINT.match(data, position, end)
    if found is None:
        raise ValueError(f"damaged at byte {position}")
    return sum((byte & 0x7F) << 7 * place for place, byte in enumerate(found.group())), found.end()
