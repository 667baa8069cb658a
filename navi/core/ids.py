"""Ids in bulk: 64-bit integers or UTF-8 text, always as flat buffers."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from navi.core.arrays import I64, U8, Array
from navi.core.ragged import offsets_of, take_ragged

Key: TypeAlias = int | str


@dataclass(frozen=True, slots=True, eq=False)
class Ids:
    """A column of ids, all integers or all text.

    values: int64 [n]; or, for text, uint8 [bytes] with `offsets` int64 [n + 1] into it (Arrow's layout).
    """

    values: Array
    offsets: I64 | None = None

    @classmethod
    def of(cls, keys: Iterable[Key]) -> "Ids":
        """From Python keys of one kind; no keys give an empty integer column.

        Raises TypeError where kinds are mixed, OverflowError past 64 bits.
        """
        listed = list(keys)
        if all(isinstance(key, int) and not isinstance(key, bool) for key in listed):
            return cls(np.array(listed, dtype=np.int64))
        if all(isinstance(key, str) for key in listed):
            return cls.of_text(listed)  # type: ignore[arg-type]
        raise TypeError("ids must be all integers or all strings")

    @classmethod
    def of_text(cls, texts: Sequence[str]) -> "Ids":
        encoded = [text.encode() for text in texts]
        offsets = offsets_of(np.array([len(text) for text in encoded], dtype=np.int64))
        return cls(np.frombuffer(b"".join(encoded), dtype=np.uint8), offsets)

    @classmethod
    def empty(cls, *, text: bool = False) -> "Ids":
        return cls.of_text([]) if text else cls(np.empty(0, dtype=np.int64))

    @property
    def is_text(self) -> bool:
        return self.offsets is not None

    def __len__(self) -> int:
        return len(self.values) if self.offsets is None else len(self.offsets) - 1

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ids):
            return NotImplemented
        return self.is_text == other.is_text and self.tolist() == other.tolist()

    __hash__ = None  # type: ignore[assignment]

    def take(self, index: Array) -> "Ids":
        """The ids at positions `index` (int64 [m], or a mask), in that order."""
        if self.offsets is None:
            return Ids(self.values[index])
        positions, offsets = take_ragged(self.offsets, index)
        return Ids(self.values[positions], offsets)

    def tolist(self) -> list[int] | list[str]:
        if self.offsets is None:
            return [int(value) for value in self.values]
        data = self.values.tobytes()
        bounds = self.offsets.tolist()
        return [data[start:end].decode() for start, end in pairwise(bounds)]

    def key(self, position: int) -> Key:
        """The id at one position, as a Python value."""
        if self.offsets is None:
            return int(self.values[position])
        return bytes(self.data(position)).decode()

    def data(self, position: int) -> U8:
        """The bytes of one text id, without a copy."""
        assert self.offsets is not None
        return self.values[self.offsets[position] : self.offsets[position + 1]]
