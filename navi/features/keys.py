"""Keys of feature stores: which are allowed, and how they lie in an ordered store of bytes."""

import operator
from typing import Literal, TypeAlias

from navi.core.errors import InvalidArgument
from navi.core.ids import Key

KeyKind: TypeAlias = Literal["int64", "string"]

MAX_KEY_BYTES = 510
"""Longest string key, in UTF-8: LMDB takes 511 bytes, and one says which kind of key it is."""

_LIMIT = 1 << 63
_INT_PREFIX = 1
_TEXT_PREFIX = 2
_ZERO = (_INT_PREFIX << 64) + _LIMIT


def checked_key(kind: KeyKind, key: object) -> Key:
    """`key` as a plain `int` or `str`; InvalidArgument("key") where a store of this kind cannot have it.

    int64: any integer of 64 bits (numpy's too, bool not). string: 1 to 510 bytes of UTF-8.
    """
    return _checked_int(key) if kind == "int64" else _checked_text(key)[0]


def pack_key(kind: KeyKind, key: object) -> bytes:
    """The checked key as bytes that sort as keys do: integers big-endian with the sign flipped, text in UTF-8."""
    if kind == "int64":
        return (_checked_int(key) + _ZERO).to_bytes(9, "big")
    return bytes((_TEXT_PREFIX,)) + _checked_text(key)[1]


def unpack_key(data: bytes) -> Key:
    """What `pack_key` packed; ValueError for anything else."""
    if data[:1] == bytes((_TEXT_PREFIX,)):
        return data[1:].decode()
    if len(data) != 9 or data[0] != _INT_PREFIX:
        raise ValueError(f"{data!r} is no key")
    return int.from_bytes(data, "big") - _ZERO


def _checked_int(key: object) -> int:
    if type(key) is int:
        number = key
    elif isinstance(key, bool | str) or not hasattr(key, "__index__"):
        raise InvalidArgument("key", f"is {_described(key)}, where the store has int64 keys")
    else:
        number = operator.index(key)
    if not -_LIMIT <= number < _LIMIT:
        raise InvalidArgument("key", f"{number} does not fit 64 bits")
    return number


def _checked_text(key: object) -> tuple[str, bytes]:
    if not isinstance(key, str):
        raise InvalidArgument("key", f"is {_described(key)}, where the store has string keys")
    try:
        data = key.encode()
    except UnicodeEncodeError as error:
        raise InvalidArgument("key", f"is no valid Unicode ({error.reason})") from error
    if not data:
        raise InvalidArgument("key", "is empty")
    if len(data) > MAX_KEY_BYTES:
        raise InvalidArgument("key", f"has {len(data)} bytes of UTF-8, where at most {MAX_KEY_BYTES} are allowed")
    return key, data


def _described(key: object) -> str:
    return f"{type(key).__name__} {str(key)[:40]!r}"
