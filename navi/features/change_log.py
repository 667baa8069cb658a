"""Which keys the latest generations of a store changed, so that caches need not forget the others."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from struct import Struct

from navi.core.ids import Key
from navi.features.keys import unpack_key

_HEAD = Struct(">QQ")  # generations up to the first are forgotten, the second is the last
_RECORD = Struct(">QI")
_KEY = Struct(">H")

MAX_BYTES = 8192
"""Of a packed log: some 350 writes of one int64 key each."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What a store says of its writes. keys: those changed since the generation asked for; None: it may be any."""

    generation: int
    keys: tuple[Key, ...] | None


def logged(log: bytes, generation: int, keys: Sequence[bytes]) -> bytes:
    """The packed log after a write of `generation`; log: empty for none. keys: packed.

    The oldest writes are forgotten for want of room, and all before a gap: whoever wrote those kept no log.
    """
    packed = b"".join(_KEY.pack(len(key)) + key for key in dict.fromkeys(keys))
    base, last = _HEAD.unpack_from(log) if log else (0, 0)
    whole = bool(log) and last == generation - 1
    records = (log[_HEAD.size :] if whole else b"") + _RECORD.pack(generation, len(packed)) + packed
    base = base if whole else generation - 1
    while len(records) > MAX_BYTES:
        base, size = _RECORD.unpack_from(records)
        records = records[_RECORD.size + size :]
    return _HEAD.pack(base, generation) + records


def changes_in(log: bytes, generation: int, since: int) -> Changes:
    """What a packed log says of the generations after `since`, up to `generation`, which the store has now."""
    if since == generation:
        return Changes(generation, ())
    base, last = _HEAD.unpack_from(log) if log else (0, 0)
    if not base <= since < generation == last:
        return Changes(generation, None)
    keys = (key for number, record in _records(log) if number > since for key in _keys(record))
    return Changes(generation, tuple(unpack_key(key) for key in dict.fromkeys(keys)))


def _records(log: bytes) -> Iterator[tuple[int, bytes]]:
    at = _HEAD.size
    while at < len(log):
        number, size = _RECORD.unpack_from(log, at)
        at += _RECORD.size
        yield number, log[at : at + size]
        at += size


def _keys(record: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(record):
        (size,) = _KEY.unpack_from(record, at)
        at += _KEY.size
        yield record[at : at + size]
        at += size
