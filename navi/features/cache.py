"""Rows that were fetched lately, kept in memory in front of any feature store."""

import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from navi.core.clock import Clock
from navi.core.errors import ConfigError, NaviError, StoreError
from navi.core.ids import Key
from navi.features.change_log import Changes
from navi.features.keys import KeyKind, checked_key
from navi.features.row_lru import RowEntry, RowLru, row_bytes
from navi.features.schema import FeatureSchema
from navi.features.store import FeatureStore, Row, WriteMode


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheStats:
    """Counts since the start, and what is held now.

    hits: keys answered from memory; `negative_hits` of them known to have no row. misses: keys that were not.
    fetches: calls of the store for all misses. evictions: entries dropped for want of room. expirations: entries found
    too old. bytes: estimated by `row_bytes`. hit_age_s: ages of the rows answered from memory, summed.
    """

    hits: int
    negative_hits: int
    misses: int
    fetches: int
    evictions: int
    expirations: int
    entries: int
    bytes: int
    hit_age_s: float = 0.0


class FeatureCache:
    """A FeatureStore that answers from memory what it read from another less than `ttl_s` seconds ago.

    The absence of a row is remembered too. Missing keys of a call are fetched in one call of the store; a key that
    another thread is fetching is waited for, and an error of that fetch reaches all who wait. Writes go through, and
    the next read after one fetches anew. So it does after writes past this object, those of other processes: each read
    asks the store what has changed.
    """

    def __init__(self, store: FeatureStore, *, max_bytes: int, ttl_s: float, clock: Clock) -> None:
        if max_bytes < 1:
            raise ConfigError("max_bytes", f"is {max_bytes}, where at least 1 is expected (without a cache, use none)")
        if not ttl_s > 0:
            raise ConfigError("ttl_s", f"is {ttl_s}, where more than 0 is expected")
        self._store = store
        self._ttl_s = ttl_s
        self._clock = clock
        self._plain = int if store.key == "int64" else str
        self._lock = threading.Lock()
        self._entries = RowLru(max_bytes)
        self._flights: dict[Key, _Flight] = {}
        self._hits = self._negative_hits = self._misses = self._fetches = 0
        self._hit_age_s = 0.0
        self._generation = 0

    @property
    def schema(self) -> FeatureSchema:
        return self._store.schema

    @property
    def key(self) -> KeyKind:
        return self._store.key

    def get_many(self, keys: Sequence[Key]) -> list[Row | None]:
        self._catch_up()
        now = self._clock.monotonic()
        rows: list[Row | None] = [None] * len(keys)
        missed: list[int] = []
        with self._lock:
            for position, key in enumerate(keys):
                entry = self._entries.get(key, now) if type(key) is self._plain else None
                if entry is None:
                    missed.append(position)
                elif entry.row is None:
                    self._negative_hits += 1
                else:
                    self._hit_age_s += now - entry.fetched
                    rows[position] = entry.row
            self._hits += len(keys) - len(missed)
        if missed:
            wanted = [checked_key(self.key, keys[position]) for position in missed]
            fetched = self._fetched(wanted, now)
            for position, key in zip(missed, wanted, strict=True):
                rows[position] = fetched[key]
        return rows

    def put_many(self, keys: Sequence[Key], rows: Sequence[Row], mode: WriteMode = "merge") -> None:
        checked = [checked_key(self.key, key) for key in keys]
        try:
            self._store.put_many(checked, rows, mode)
        finally:
            self._forget(checked)

    def delete_many(self, keys: Sequence[Key]) -> int:
        checked = [checked_key(self.key, key) for key in keys]
        try:
            return self._store.delete_many(checked)
        finally:
            self._forget(checked)

    def items(self) -> Iterator[tuple[Key, Row]]:
        return self._store.items()

    def count(self) -> int:
        return self._store.count()

    def generation(self) -> int:
        return self._store.generation()

    def changes(self, since: int) -> Changes:
        return self._store.changes(since)

    def close(self) -> None:
        """Close the store behind."""
        self._store.close()

    def stats(self) -> CacheStats:
        with self._lock:
            return CacheStats(
                hits=self._hits,
                negative_hits=self._negative_hits,
                misses=self._misses,
                fetches=self._fetches,
                evictions=self._entries.evictions,
                expirations=self._entries.expirations,
                entries=len(self._entries),
                bytes=self._entries.bytes,
                hit_age_s=self._hit_age_s,
            )

    def _catch_up(self) -> None:
        """Let no read see what was known of keys that anyone has written since the last one."""
        changes = self._store.changes(self._generation)
        if changes.generation == self._generation:
            return
        with self._lock:
            if changes.keys is None:
                self._entries.clear()
                self._flights.clear()
            else:
                self._drop(changes.keys)
            self._generation = max(self._generation, changes.generation)

    def _fetched(self, keys: list[Key], now: float) -> dict[Key, Row | None]:
        """Rows of keys that were missed: from a fetch of our own, from fetches under way, or by now from memory."""
        rows: dict[Key, Row | None] = {}
        own, mine, joined = _Flight(), [], {}
        with self._lock:
            self._misses += len(keys)
            for key in dict.fromkeys(keys):
                entry = self._entries.get(key, now)
                if entry is not None:
                    rows[key] = entry.row
                elif (flight := self._flights.setdefault(key, own)) is own:
                    mine.append(key)
                else:
                    joined[key] = flight
        if mine:
            rows |= self._fly(own, mine, now)
        for key, flight in joined.items():
            rows[key] = flight.landed()[key]
        return rows

    def _fly(self, flight: "_Flight", keys: list[Key], now: float) -> dict[Key, Row | None]:
        try:
            flight.rows = dict(zip(keys, self._store.get_many(keys), strict=True))
        except NaviError as error:
            flight.error = error
            raise
        finally:
            self._land(flight, keys, now)
        return flight.rows

    def _land(self, flight: "_Flight", keys: list[Key], now: float) -> None:
        """Keep what was fetched, but for keys that were written since it began, and wake who waits."""
        rows = flight.rows or {}
        expires = now + self._ttl_s
        entries = {key: RowEntry(row, now, expires, row_bytes(row)) for key, row in rows.items()}
        with self._lock:
            self._fetches += 1
            for key in keys:
                if self._flights.get(key) is flight:
                    del self._flights[key]
                    if key in entries:
                        self._entries.put(key, entries[key])
        flight.done.set()

    def _forget(self, keys: Iterable[Key]) -> None:
        """Let no later read see what was known of `keys`, nor a fetch that began before bring it back."""
        with self._lock:
            self._drop(keys)

    def _drop(self, keys: Iterable[Key]) -> None:
        for key in keys:
            self._entries.drop(key)
            self._flights.pop(key, None)


class _Flight:
    """One fetch under way, which others may wait for."""

    __slots__ = ("done", "error", "rows")

    def __init__(self) -> None:
        self.done = threading.Event()
        self.rows: dict[Key, Row | None] | None = None
        self.error: NaviError | None = None

    def landed(self) -> dict[Key, Row | None]:
        """Wait for the rows; raises what the fetch raised."""
        self.done.wait()
        if self.error is not None:
            raise self.error
        if self.rows is None:
            raise StoreError("a fetch that others waited for broke off")
        return self.rows
