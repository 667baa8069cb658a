"""Columns of strings on the wire: UTF-8 end to end, and the bounds of each string."""

from itertools import pairwise

import numpy as np

from navi.core.arrays import Array
from navi.core.errors import InvalidArgument
from navi.core.ragged import offsets_of
from navi.wire.buffers import read_offsets, write_offsets


def decode_texts(data: bytes, text_offsets: bytes, path: str) -> Array:
    """Strings as an object array [values]; no bytes at all are no strings."""
    if not data and not text_offsets:
        return np.empty(0, dtype=object)
    bounds = read_offsets(text_offsets, len(data), path, "text_offsets").tolist()
    texts = np.empty(len(bounds) - 1, dtype=object)
    if data.isascii():
        whole = data.decode("ascii")
        texts[:] = [whole[start:end] for start, end in pairwise(bounds)]
        return texts
    for position, (start, end) in enumerate(pairwise(bounds)):
        try:
            texts[position] = data[start:end].decode()
        except UnicodeDecodeError as error:
            raise InvalidArgument(path, f"string {position} is not UTF-8") from error
    return texts


def encode_texts(texts: Array, path: str) -> tuple[bytes, bytes]:
    """(data, text_offsets) of an object array of `str`; InvalidArgument for anything else in it."""
    listed = texts.ravel().tolist()
    try:
        encoded = [text.encode() for text in listed]
    except (AttributeError, UnicodeEncodeError) as error:
        raise InvalidArgument(path, "has a value that is not text, or cannot be written as UTF-8") from error
    lengths = np.fromiter(map(len, encoded), dtype=np.int64, count=len(encoded))
    return b"".join(encoded), write_offsets(offsets_of(lengths), path)
