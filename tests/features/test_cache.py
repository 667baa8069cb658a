"""What a cache adds to the contract of stores: fewer reads, and never a row that is too old."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from navi.core.clock import ManualClock
from navi.core.errors import InvalidArgument, StoreError
from navi.features.cache import CacheStats, FeatureCache
from navi.features.memory_store import MemoryStore
from navi.features.row_lru import row_bytes
from navi.features.schema import FeatureSchema, Field

SCHEMA = FeatureSchema(
    {
        "age": Field(dtype="float32"),
        "seen": Field(dtype="int64", max_length=5000),
        "tags": Field(dtype="string", max_length=9),
    }
)
TTL = 60.0


class WatchedStore:
    """A store in memory that tells what was fetched, and may hold a fetch once it has read, or fail it."""

    def __init__(self):
        self.inner = MemoryStore(SCHEMA)
        self.fetched = []
        self.error = None
        self.held = threading.Event()
        self.go_on = threading.Event()
        self.go_on.set()
        self.on_fetch = lambda: None

    schema = SCHEMA
    key = "int64"

    def get_many(self, keys):
        rows = self.inner.get_many(keys)
        self.fetched.append(list(keys))
        error = self.error
        self.on_fetch()
        self.held.set()
        assert self.go_on.wait(30)
        if error is not None:
            raise error
        return rows

    def put_many(self, keys, rows, mode="merge"):
        self.inner.put_many(keys, rows, mode)
        if self.error is not None:
            raise self.error

    def delete_many(self, keys):
        return self.inner.delete_many(keys)

    def items(self):
        return self.inner.items()

    def count(self):
        return self.inner.count()

    def generation(self):
        return self.inner.generation()

    def changes(self, since):
        return self.inner.changes(since)

    def close(self):
        self.inner.close()

    def hold(self):
        self.held.clear()
        self.go_on.clear()


@pytest.fixture
def store():
    return WatchedStore()


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def cache(store, clock):
    store.inner.put_many([1, 2, 3], [{"age": 31}, {"age": 32}, {"age": 33}])
    return FeatureCache(store, max_bytes=1 << 20, ttl_s=TTL, clock=clock)


@pytest.fixture
def pool():
    with ThreadPoolExecutor(16) as pool:
        yield pool


def ages(cache, *keys):
    return [None if row is None else row["age"].item() for row in cache.get_many(keys)]


def waiting(cache, calls):
    """Whether so many calls found their key missing, and so fetch it or wait for who does."""
    return cache.stats().misses >= calls


def until(condition):
    for _ in range(3000):
        if condition():
            return
        threading.Event().wait(0.01)
    raise AssertionError("it never happened")


def test_what_was_read_is_not_read_again(store, cache):
    assert ages(cache, 1, 2) == [31, 32]
    assert ages(cache, 2, 1, 3) == [32, 31, 33]
    assert ages(cache, 1, 2, 3) == [31, 32, 33]
    assert store.fetched == [[1, 2], [3]]


def test_the_absence_of_a_row_is_remembered(store, cache):
    assert ages(cache, 9, 9) == [None, None]
    assert ages(cache, 9) == [None]
    assert store.fetched == [[9]]
    assert cache.stats().negative_hits == 1


def test_all_misses_of_a_call_are_one_fetch_and_a_key_given_twice_is_fetched_once(store, cache):
    assert ages(cache, 3, 9, 3, 1, 9) == [33, None, 33, 31, None]
    assert store.fetched == [[3, 9, 1]]


def test_a_call_without_keys_reads_nothing(store, cache):
    assert cache.get_many([]) == []
    assert store.fetched == []


def test_numpy_keys_find_what_plain_ones_fetched(store, cache):
    assert ages(cache, 1) == [31]
    assert ages(cache, *np.array([1, 2])) == [31, 32]
    assert store.fetched == [[1], [2]]


def test_a_write_past_the_cache_shows_in_the_next_read_and_other_rows_stay(store, cache):
    assert ages(cache, 1, 2, 9) == [31, 32, None]
    store.inner.put_many([1, 9], [{"age": 41}, {"age": 49}])
    assert ages(cache, 1, 2, 9) == [41, 32, 49]
    assert store.fetched == [[1, 2, 9], [1, 9]]
    store.inner.delete_many([9])
    assert ages(cache, 1, 9) == [41, None]
    assert store.fetched[2:] == [[9]]


def test_after_more_writes_than_the_store_remembers_everything_is_read_again(store, cache):
    assert ages(cache, 1, 2) == [31, 32]
    for age in range(1000):
        store.inner.put_many([1], [{"age": age}])
    assert ages(cache, 1, 2) == [999, 32]
    assert store.fetched == [[1, 2], [1, 2]]


def test_a_fetch_that_began_before_a_write_past_the_cache_is_not_kept(store, cache, pool):
    store.hold()
    early = pool.submit(ages, cache, 1)
    assert store.held.wait(30)
    store.inner.put_many([1], [{"age": 41}])
    store.go_on.set()
    assert early.result(30) == [31]
    assert ages(cache, 1) == [41]


def test_a_row_is_read_again_after_its_time(store, cache, clock):
    ages(cache, 1, 9)
    clock.advance(TTL - 0.001)
    ages(cache, 1, 9)
    assert len(store.fetched) == 1
    clock.advance(0.001)
    assert ages(cache, 1, 9) == [31, None]
    assert len(store.fetched) == 2
    assert cache.stats().expirations == 2


def test_a_rows_time_counts_from_before_it_was_read(store, cache, clock):
    store.on_fetch = lambda: clock.advance(TTL / 2)
    ages(cache, 1)
    store.on_fetch = lambda: None
    clock.advance(TTL / 2)
    ages(cache, 1)
    assert store.fetched == [[1], [1]]


def test_counts_add_up(cache):
    ages(cache, 1, 2, 9)
    ages(cache, 1, 2, 9, 3)
    size = 3 * row_bytes(cache.get_many([1])[0]) + row_bytes(None)
    assert cache.stats() == CacheStats(
        hits=4, negative_hits=1, misses=4, fetches=2, evictions=0, expirations=0, entries=4, bytes=size
    )


def test_the_ages_of_the_rows_found_are_summed(cache, clock):
    ages(cache, 1, 2, 9)
    clock.advance(TTL / 4)
    ages(cache, 1, 2, 9)
    clock.advance(TTL / 4)
    ages(cache, 1)
    assert cache.stats().hit_age_s == pytest.approx(TTL)


def test_the_bound_in_bytes_holds_and_the_least_lately_used_go_first(store, clock):
    size = row_bytes({"age": np.zeros(1, np.float32)})
    cache = FeatureCache(store, max_bytes=3 * size, ttl_s=TTL, clock=clock)
    store.inner.put_many(range(5), [{"age": key} for key in range(5)])
    ages(cache, 0, 1, 2)
    ages(cache, 0)
    ages(cache, 3)
    assert cache.stats().entries == 3
    assert cache.stats().evictions == 1
    ages(cache, 0, 2, 3)
    assert store.fetched == [[0, 1, 2], [3]]
    ages(cache, 1)
    assert store.fetched[2:] == [[1]]
    assert cache.stats().bytes == 3 * size


def test_many_rows_of_many_sizes_never_pass_the_bound(store, clock):
    cache = FeatureCache(store, max_bytes=20_000, ttl_s=TTL, clock=clock)
    generator = np.random.default_rng(7)
    for key in range(200):
        row = {"seen": np.arange(generator.integers(0, 1500)), "tags": ["x" * int(generator.integers(0, 500))]}
        store.inner.put_many([key], [row])
        cache.get_many(generator.integers(0, key + 1, 5))
        assert cache.stats().bytes <= 20_000
        assert (cache.stats().bytes > 0) == (cache.stats().entries > 0)
    assert cache.stats().evictions > 0


def test_a_row_bigger_than_the_cache_is_not_kept_and_costs_the_others_nothing(store, clock):
    cache = FeatureCache(store, max_bytes=5000, ttl_s=TTL, clock=clock)
    store.inner.put_many([1, 2], [{"age": 31}, {"seen": np.arange(5000)}])
    for _ in range(2):
        ages(cache, 1)
        assert len(cache.get_many([2])[0]["seen"]) == 5000
    assert store.fetched == [[1], [2], [2]]


@pytest.mark.parametrize("mode", ["merge", "replace"])
def test_a_write_is_seen_by_the_next_read(cache, mode):
    ages(cache, 1, 9)
    cache.put_many([1, 9], [{"age": 41}, {"age": 49}], mode)
    assert ages(cache, 1, 9) == [41, 49]
    assert cache.delete_many([1]) == 1
    assert ages(cache, 1, 9) == [None, 49]


def test_a_write_leaves_other_keys_in_the_cache(store, cache):
    ages(cache, 1, 2)
    cache.put_many([1], [{"age": 41}])
    assert ages(cache, 1, 2) == [41, 32]
    assert store.fetched == [[1, 2], [1]]


def test_a_write_that_failed_may_have_been_made_and_is_read_again(store, cache):
    ages(cache, 1)
    store.error = StoreError("the disk went away after the commit")
    with pytest.raises(StoreError):
        cache.put_many([1], [{"age": 41}])
    store.error = None
    assert ages(cache, 1) == [41]


def test_concurrent_misses_of_one_key_are_one_fetch(store, cache, pool):
    store.hold()
    together = threading.Barrier(8)

    def read(_):
        together.wait()
        return ages(cache, 1)

    calls = [pool.submit(read, number) for number in range(8)]
    until(lambda: waiting(cache, 8))
    store.go_on.set()
    assert [call.result() for call in calls] == [[31]] * 8
    assert store.fetched == [[1]]
    assert cache.stats().fetches == 1


def test_a_call_fetches_only_what_nobody_else_is_fetching(store, cache, pool):
    store.hold()
    first = pool.submit(ages, cache, 1, 2)
    assert store.held.wait(30)
    second = pool.submit(ages, cache, 3, 2, 1)
    until(lambda: len(store.fetched) == 2)
    store.go_on.set()
    assert (first.result(), second.result()) == ([31, 32], [33, 32, 31])
    assert store.fetched == [[1, 2], [3]]


def test_an_error_reaches_all_who_wait_and_is_not_kept(store, cache, pool):
    store.hold()
    store.error = StoreError("the disk went away")
    calls = [pool.submit(ages, cache, 1) for _ in range(4)]
    until(lambda: waiting(cache, 4))
    store.error = None
    store.go_on.set()
    for call in calls:
        with pytest.raises(StoreError, match="the disk went away"):
            call.result()
    assert ages(cache, 1) == [31]
    assert store.fetched == [[1], [1]]


def test_a_fetch_that_breaks_off_leaves_nobody_waiting(store, cache, pool):
    store.hold()
    store.error = ZeroDivisionError()
    first = pool.submit(ages, cache, 1)
    assert store.held.wait(30)
    second = pool.submit(ages, cache, 1)
    until(lambda: waiting(cache, 2))
    store.error = None
    store.go_on.set()
    with pytest.raises(ZeroDivisionError):
        first.result()
    with pytest.raises(StoreError, match="broke off"):
        second.result()
    assert ages(cache, 1) == [31]


def test_a_bad_key_fails_its_own_call_alone(store, cache, pool):
    store.hold()
    first = pool.submit(ages, cache, 1)
    assert store.held.wait(30)
    with pytest.raises(InvalidArgument):
        cache.get_many([2, "x", 1])
    store.go_on.set()
    assert first.result() == [31]
    assert ages(cache, 1, 2) == [31, 32]
    assert store.fetched == [[1], [2]]


@pytest.mark.parametrize("write", ["put", "delete", "failing put"])
def test_a_fetch_that_began_before_a_write_does_not_bring_the_old_row_back(store, cache, pool, write):
    store.hold()
    fetch = pool.submit(ages, cache, 1, 2)
    assert store.held.wait(30)
    if write == "delete":
        cache.delete_many([1])
    elif write == "put":
        cache.put_many([1], [{"age": 41}])
    else:
        store.error = StoreError("the disk went away after the commit")
        with pytest.raises(StoreError):
            cache.put_many([1], [{"age": 41}])
        store.error = None
    store.go_on.set()
    assert fetch.result() == [31, 32]
    assert ages(cache, 1, 2) == [None if write == "delete" else 41, 32]
    assert store.fetched == [[1, 2], [1]]


def test_a_read_after_a_write_does_not_wait_for_a_fetch_from_before_it(store, cache, pool):
    store.hold()
    old = pool.submit(ages, cache, 1)
    assert store.held.wait(30)
    cache.put_many([1], [{"age": 41}])
    new = pool.submit(ages, cache, 1)
    until(lambda: len(store.fetched) == 2)
    store.go_on.set()
    assert (old.result(), new.result()) == ([31], [41])
    assert ages(cache, 1) == [41]
    assert len(store.fetched) == 2


def test_no_read_is_older_than_the_last_write_that_was_acknowledged(pool):
    cache = FeatureCache(MemoryStore(SCHEMA), max_bytes=1 << 20, ttl_s=TTL, clock=ManualClock())
    cache.put_many([1], [{"age": 0}])
    acknowledged = [0]
    stop = threading.Event()

    def read():
        while not stop.is_set():
            least = acknowledged[0]
            assert ages(cache, 1)[0] >= least

    readers = [pool.submit(read) for _ in range(3)]
    for step in range(1, 300):
        cache.put_many([1], [{"age": step}])
        acknowledged[0] = step
    stop.set()
    for reader in readers:
        reader.result()
