"""A feature store on LMDB: embedded, durable, shared by the processes of one host."""

import json
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from navi.core.errors import ConfigError, StoreError
from navi.core.ids import Key
from navi.features.change_log import Changes, changes_in, logged
from navi.features.keys import KeyKind, checked_key, pack_key, unpack_key
from navi.features.lmdb_environment import LmdbEnvironment, Transaction
from navi.features.row_codec import RowCodec
from navi.features.row_writes import checked_rows, rows_after
from navi.features.schema import FeatureSchema
from navi.features.store import Row, WriteMode

_ABOUT = b"\x00about"
_GENERATION = b"\x00generation"
_CHANGES = b"\x00changes"
_FIRST_ROW = b"\x01"
_FORMAT = 1
_CHUNK = 512


class LmdbStore:
    """A FeatureStore in a folder. What `put_many` wrote is on disk when it returns, and seen by every process.

    One process opens a folder once and shares the store among its threads.
    """

    def __init__(self, environment: LmdbEnvironment, codec: RowCodec, key: KeyKind) -> None:
        self._environment = environment
        self._codec = codec
        self._key: KeyKind = key

    @classmethod
    def open(
        cls,
        path: Path,
        schema: FeatureSchema,
        *,
        key: KeyKind = "int64",
        map_size: int = 1 << 34,
        read_only: bool = False,
    ) -> "LmdbStore":
        """Open the store in the folder `path`; it is made where it is not there, unless `read_only`.

        key: which keys it has. map_size: bytes of address space to begin with (the file takes what it needs, and the
        map grows when full). Raises StoreError where the store is missing, damaged or already open in this process,
        ConfigError("key") where it was made for other keys.
        """
        environment = LmdbEnvironment.open(path, map_size=map_size, read_only=read_only)
        try:
            about = environment.read(lambda transaction: transaction.get(_ABOUT))
            if about is None and not read_only:
                about = environment.write(lambda transaction: _founded(transaction, key))
            _check_about(path, about, key)
        except (StoreError, ConfigError):
            environment.close()
            raise
        return cls(environment, RowCodec(schema), key)

    @property
    def schema(self) -> FeatureSchema:
        return self._codec.schema

    @property
    def key(self) -> KeyKind:
        return self._key

    def get_many(self, keys: Sequence[Key]) -> list[Row | None]:
        packed = [pack_key(self._key, key) for key in keys]
        found = self._environment.read(lambda transaction: [transaction.get(key) for key in packed])
        return [None if data is None else self._row(key, data) for key, data in zip(keys, found, strict=True)]

    def put_many(self, keys: Sequence[Key], rows: Sequence[Row], mode: WriteMode = "merge") -> None:
        checked = checked_rows(self.schema, keys, rows, mode)
        plain = [checked_key(self._key, key) for key in keys]
        if plain:
            self._environment.write(lambda transaction: self._put(transaction, plain, checked, mode))

    def delete_many(self, keys: Sequence[Key]) -> int:
        packed = [pack_key(self._key, key) for key in keys]
        return self._environment.write(lambda transaction: _deleted(transaction, packed)) if packed else 0

    def items(self) -> Iterator[tuple[Key, Row]]:
        after = _FIRST_ROW
        while chunk := self._environment.read(partial(_chunk, after=after)):
            for packed, data in chunk:
                key = unpack_key(packed)
                yield key, self._row(key, data)
            after = chunk[-1][0]

    def count(self) -> int:
        return self._environment.read(_count)

    def generation(self) -> int:
        return self._environment.read(_generation)

    def changes(self, since: int) -> Changes:
        return self._environment.read(partial(_changes, since=since))

    def close(self) -> None:
        self._environment.close()

    def _put(self, transaction: Transaction, keys: list[Key], rows: list[Row], mode: WriteMode) -> None:
        def old(key: Key) -> Row | None:
            data = transaction.get(pack_key(self._key, key))
            return None if data is None else self._row(key, data)

        after = rows_after(self.schema, keys, rows, mode=mode, old=old)
        packed = {pack_key(self._key, key): self._codec.pack(row) for key, row in after.items()}
        for key, data in packed.items():
            transaction.put(key, data)
        _raise_generation(transaction, list(packed))

    def _row(self, key: Key, data: bytes) -> Row:
        try:
            return self._codec.unpack(data)
        except StoreError as error:
            raise StoreError(f"{self._environment.path}: key {key!r}: {error}") from error


def _founded(transaction: Transaction, key: KeyKind) -> bytes:
    """Write what says that this is a store, unless another process was quicker; what stands there then."""
    about = transaction.get(_ABOUT)
    if about is None:
        about = json.dumps({"format": _FORMAT, "key": key}).encode()
        transaction.put(_ABOUT, about)
        transaction.put(_GENERATION, (0).to_bytes(8, "big"))
    return about


def _check_about(path: Path, about: bytes | None, key: KeyKind) -> None:
    if about is None:
        raise StoreError(f"{path}: holds no feature store")
    try:
        known = json.loads(about)
        found = known["format"], known["key"]
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{path}: is damaged: it does not say what it is") from error
    if found[0] != _FORMAT:
        raise StoreError(f"{path}: has format {found[0]}, where {_FORMAT} is expected")
    if found[1] != key:
        raise ConfigError("key", f"is {key}, but the store in {path} has {found[1]} keys")


def _generation(transaction: Transaction) -> int:
    return int.from_bytes(transaction.get(_GENERATION, b""), "big")


def _changes(transaction: Transaction, since: int) -> Changes:
    generation = _generation(transaction)
    if generation == since:
        return Changes(generation, ())
    return changes_in(transaction.get(_CHANGES, b""), generation, since)


def _count(transaction: Transaction) -> int:
    """Entries that are rows; a store that was made before there was a log of changes has none."""
    others = sum(transaction.get(name) is not None for name in (_ABOUT, _GENERATION, _CHANGES))
    entries: int = transaction.stat()["entries"]
    return entries - others


def _raise_generation(transaction: Transaction, keys: list[bytes]) -> None:
    generation = _generation(transaction) + 1
    transaction.put(_GENERATION, generation.to_bytes(8, "big"))
    transaction.put(_CHANGES, logged(transaction.get(_CHANGES, b""), generation, keys))


def _deleted(transaction: Transaction, keys: list[bytes]) -> int:
    there = sum(transaction.delete(key) for key in keys)
    if there:
        _raise_generation(transaction, keys)
    return there


def _chunk(transaction: Transaction, after: bytes) -> list[tuple[bytes, bytes]]:
    """The next rows behind the key `after`."""
    chunk: list[tuple[bytes, bytes]] = []
    with transaction.cursor() as cursor:
        if not cursor.set_range(after) or (cursor.key() == after and not cursor.next()):
            return chunk
        for item in cursor:
            chunk.append(item)
            if len(chunk) == _CHUNK:
                break
    return chunk
