"""Where each feature lies in a packed row, worked out once for all rows that have the same features.

A signature names each stored field with its type, one a line (`i1:age`, `f4:taste`, `i*:seen`), so that a reader needs
no schema but its own: fields that it does not know, or knows under another type, are skipped.
"""

import re
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from navi.core.column import DType
from navi.core.errors import InvalidArgument
from navi.features.schema import Field

HEAD = struct.Struct("<I")
VERSION = 1
STORED: dict[DType, np.dtype] = {"int64": np.dtype("<i8"), "float32": np.dtype("<f4"), "bool": np.dtype("?")}

_CODES: dict[DType, str] = {"int64": "i", "float32": "f", "bool": "b", "string": "s"}
_DTYPES = {_CODES[name]: dtype for name, dtype in STORED.items()}
_FALLING_SIZE = "ifbs"
_LINE = re.compile(r"[ifbs](\d+|\*):")


@dataclass(frozen=True, slots=True)
class Block:
    """Neighbouring fields of one dtype and of fixed widths: `count` values from byte `at`; `parts` slice them."""

    dtype: np.dtype
    count: int
    at: int
    parts: tuple[tuple[str, slice], ...]


@dataclass(frozen=True, slots=True)
class Varying:
    """A field whose bytes differ in number from row to row; `dtype` is None for text.

    A row has `width` values, or any number (None), of which at most `longest` are given to readers.
    """

    name: str
    dtype: np.dtype | None
    width: int | None
    longest: int


@dataclass(frozen=True, slots=True)
class Layout:
    """How a reader finds the fields of a row; those that its schema has not are left out, or None in `varying`."""

    blocks: tuple[Block, ...]
    varying: tuple[Varying | None, ...]
    sizes: struct.Struct
    sizes_at: int
    varying_at: int


@dataclass(frozen=True, slots=True)
class Template:
    """How a writer lays down rows that have the same features: head, sizes, pad, fixed, pad, varying."""

    head: bytes
    sizes: struct.Struct
    pad: bytes
    fixed: tuple[str, ...]
    middle: bytes
    varying: tuple[str, ...]


def sign(name: str, field: Field) -> str:
    """The line of a signature for one field."""
    if "\n" in name:
        raise InvalidArgument(name, "has a line break in its name")
    return f"{_CODES[field.dtype]}{'*' if field.ragged else field.width}:{name}"


def parse(signature: bytes, known: Mapping[str, tuple[str, Field]]) -> Layout:
    """The layout of rows with this signature, for the reader of the `known` fields (by `sign`).

    Raises ValueError for bytes that are no signature.
    """
    signs = _lines(signature)
    fixed = [line for line in signs if not _varies(line)]
    varying = [line for line in signs if _varies(line)]
    sizes = struct.Struct(f"<{len(varying)}I")
    sizes_at = aligned(HEAD.size + len(signature), 4)
    blocks, end = _blocks(fixed, known, aligned(sizes_at + sizes.size, 8))
    slots = tuple(_varying(*known[line]) if line in known else None for line in varying)
    return Layout(blocks, slots, sizes, sizes_at, aligned(end, 8))


def arrange(names: Iterable[str], signs: Mapping[str, str]) -> Template:
    """How to write rows that have exactly the features `names`, which all have a line in `signs`."""
    ordered = sorted(names, key=lambda name: (_varies(signs[name]), _FALLING_SIZE.index(signs[name][0]), name))
    fixed = tuple(name for name in ordered if not _varies(signs[name]))
    varying = tuple(ordered[len(fixed) :])
    signature = "".join(signs[name] + "\n" for name in ordered).encode()
    head = HEAD.pack(VERSION | len(signature) << 8) + signature
    head += _padding(len(head), 4)
    sizes = struct.Struct(f"<{len(varying)}I")
    pad = _padding(len(head) + sizes.size, 8)
    used = sum(_width(signs[name]) * _DTYPES[signs[name][0]].itemsize for name in fixed)
    return Template(head, sizes, pad, fixed, _padding(used, 8), varying)


def aligned(position: int, boundary: int) -> int:
    """The first multiple of `boundary` that is not below `position`."""
    return -(-position // boundary) * boundary


def _padding(position: int, boundary: int) -> bytes:
    return bytes(aligned(position, boundary) - position)


def _blocks(lines: list[str], known: Mapping[str, tuple[str, Field]], at: int) -> tuple[tuple[Block, ...], int]:
    blocks = []
    for code, group in groupby(lines, key=lambda line: line[0]):
        dtype, count, parts = _DTYPES[code], 0, []
        for line in group:
            width = _width(line)
            if line in known:
                parts.append((known[line][0], slice(count, count + width)))
            count += width
        if parts:
            blocks.append(Block(dtype, count, at, tuple(parts)))
        at += count * dtype.itemsize
    return tuple(blocks), at


def _varying(name: str, field: Field) -> Varying:
    width = None if field.max_length is not None else field.width
    return Varying(name, STORED.get(field.dtype), width, field.max_length or field.width)


def _lines(signature: bytes) -> list[str]:
    lines = signature.decode().split("\n")
    if lines.pop() or not all(_LINE.match(line) for line in lines):
        raise ValueError("its signature is none")
    return lines


def _varies(line: str) -> bool:
    return line[0] == "s" or line[1] == "*"


def _width(line: str) -> int:
    return int(line[1 : line.index(":")])
