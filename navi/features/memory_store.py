"""A feature store in this process' memory: for tests, and for rows that may be lost with the process."""

import threading
from collections.abc import Iterator, Sequence

from navi.core.ids import Key
from navi.features.change_log import Changes, changes_in, logged
from navi.features.keys import KeyKind, checked_key, pack_key
from navi.features.row_codec import RowCodec
from navi.features.row_writes import checked_rows, rows_after
from navi.features.schema import FeatureSchema
from navi.features.store import Row, WriteMode


class MemoryStore:
    """A FeatureStore that lasts as long as the object; `close` leaves it as it is.

    key: which keys it has, "int64" or "string".
    """

    def __init__(self, schema: FeatureSchema, *, key: KeyKind = "int64") -> None:
        self._codec = RowCodec(schema)
        self._key: KeyKind = key
        self._rows: dict[Key, Row] = {}
        self._generation = 0
        self._log = b""
        self._lock = threading.Lock()

    @property
    def schema(self) -> FeatureSchema:
        return self._codec.schema

    @property
    def key(self) -> KeyKind:
        return self._key

    def get_many(self, keys: Sequence[Key]) -> list[Row | None]:
        checked = [checked_key(self._key, key) for key in keys]
        with self._lock:
            return [self._rows.get(key) for key in checked]

    def put_many(self, keys: Sequence[Key], rows: Sequence[Row], mode: WriteMode = "merge") -> None:
        checked = checked_rows(self.schema, keys, rows, mode)
        plain = [checked_key(self._key, key) for key in keys]
        if not plain:
            return
        with self._lock:
            after = rows_after(self.schema, plain, checked, mode=mode, old=self._rows.get)
            self._rows |= {key: self._frozen(row) for key, row in after.items()}
            self._written(plain)

    def delete_many(self, keys: Sequence[Key]) -> int:
        checked = [checked_key(self._key, key) for key in keys]
        with self._lock:
            there = sum(self._rows.pop(key, None) is not None for key in checked)
            if there:
                self._written(checked)
            return there

    def items(self) -> Iterator[tuple[Key, Row]]:
        with self._lock:
            rows = dict(self._rows)
        for key in sorted(rows, key=lambda key: pack_key(self._key, key)):
            yield key, rows[key]

    def count(self) -> int:
        return len(self._rows)

    def generation(self) -> int:
        return self._generation

    def changes(self, since: int) -> Changes:
        with self._lock:
            return changes_in(self._log, self._generation, since)

    def close(self) -> None:
        pass

    def _written(self, keys: Sequence[Key]) -> None:
        self._generation += 1
        self._log = logged(self._log, self._generation, [pack_key(self._key, key) for key in keys])

    def _frozen(self, row: Row) -> Row:
        """A read-only copy, which no caller's array can change."""
        return self._codec.unpack(self._codec.pack(row))
