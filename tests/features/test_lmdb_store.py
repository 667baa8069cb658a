"""What a store in a folder adds to the contract of stores: it stays, it is shared, it grows, it finds damage."""

import shutil
import subprocess
import sys
import threading

import lmdb
import numpy as np
import pytest

from navi.core.clock import SystemClock
from navi.core.errors import ConfigError, StoreError
from navi.features.cache import FeatureCache
from navi.features.lmdb_store import LmdbStore
from navi.features.schema import FeatureSchema, Field

SCHEMA = FeatureSchema({"age": Field(dtype="float32"), "seen": Field(dtype="int64", max_length=1000)})
SMALL = 1 << 17

CHILD = """
import sys
from pathlib import Path
from navi.features.lmdb_store import LmdbStore
from navi.features.schema import FeatureSchema, Field

schema = FeatureSchema({"age": Field(dtype="float32"), "seen": Field(dtype="int64", max_length=1000)})
store = LmdbStore.open(Path(sys.argv[1]), schema, map_size=1 << 17)
print("open", flush=True)
for line in sys.stdin:
    print(eval(line), flush=True)
store.close()
"""


class Child:
    """Another process that has the store open and evaluates what it is told."""

    def __init__(self, path):
        command = [sys.executable, "-c", CHILD, str(path)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "open\n"

    def tell(self, expression):
        self.process.stdin.write(expression + "\n")
        self.process.stdin.flush()

    def heard(self):
        return self.process.stdout.readline().strip()

    def ask(self, expression):
        self.tell(expression)
        return self.heard()

    def close(self):
        self.process.stdin.close()
        assert self.process.wait() == 0
        self.process.stdout.close()


@pytest.fixture
def child(tmp_path):
    children = []

    def started():
        children.append(Child(tmp_path / "users"))
        return children[-1]

    yield started
    for one in children:
        one.close()


@pytest.fixture
def opened(tmp_path):
    stores = []

    def open_(schema=SCHEMA, **options):
        stores.append(LmdbStore.open(tmp_path / "users", schema, **options))
        return stores[-1]

    yield open_
    for store in stores:
        store.close()


def ages(store, *keys):
    return [None if row is None else row["age"].tolist() for row in store.get_many(keys)]


def test_rows_stay_when_the_store_is_closed(opened):
    first = opened()
    first.put_many([1], [{"age": 31}])
    first.close()
    again = opened()
    assert ages(again, 1) == [[31]]
    assert (again.count(), again.generation()) == (1, 1)


def test_a_changed_schema_reads_old_rows_and_drops_what_it_lost_when_it_rewrites(opened):
    first = opened()
    first.put_many([1], [{"age": 31, "seen": [1, 2]}])
    first.close()
    fields = {"seen": Field(dtype="int64", max_length=1), "age": Field(dtype="int64"), "new": Field(dtype="bool")}
    again = opened(FeatureSchema(fields))
    assert {name: values.tolist() for name, values in again.get_many([1])[0].items()} == {"seen": [2]}
    again.put_many([1], [{"new": True}])
    again.close()
    assert {name: values.tolist() for name, values in opened().get_many([1])[0].items()} == {"seen": [2]}


def test_a_folder_is_open_once_in_a_process(opened):
    store = opened()
    with pytest.raises(StoreError, match="already open"):
        opened()
    store.put_many([1], [{"age": 31}])
    assert ages(store, 1) == [[31]]


def test_a_closed_store_says_so(opened):
    store = opened()
    store.close()
    store.close()
    with pytest.raises(StoreError):
        store.get_many([1])
    with pytest.raises(StoreError):
        store.put_many([1], [{"age": 31}])


def test_a_read_only_store_is_read_and_not_written(opened):
    first = opened()
    first.put_many([1], [{"age": 31}])
    first.close()
    store = opened(read_only=True)
    assert ages(store, 1) == [[31]]
    with pytest.raises(StoreError):
        store.put_many([1], [{"age": 32}])
    with pytest.raises(StoreError):
        store.delete_many([1])
    assert ages(store, 1) == [[31]]


def test_the_other_kind_of_keys_is_refused_at_the_door(opened):
    opened(key="string").close()
    with pytest.raises(ConfigError, match="string keys") as refused:
        opened(key="int64")
    assert refused.value.field == "key"
    opened(key="string")


def test_a_write_of_another_process_is_seen_by_the_next_read(opened, child):
    store, other = opened(), child()
    assert ages(store, 1) == [None]
    assert other.ask("store.put_many([1], [{'age': 31}])") == "None"
    assert ages(store, 1) == [[31]]
    assert store.generation() == 1
    store.delete_many([1])
    assert other.ask("store.get_many([1])[0]") == "None"
    assert other.ask("store.generation()") == "2"


def test_a_cache_reads_again_what_another_process_has_written(opened, child):
    store, other = opened(), child()
    cache = FeatureCache(store, max_bytes=1 << 20, ttl_s=3600, clock=SystemClock())
    assert ages(cache, 1, 2) == [None, None]
    for age in range(5):
        assert other.ask(f"store.put_many([1], [{{'age': {age}}}])") == "None"
        assert ages(cache, 1, 2) == [[age], None]
    assert cache.stats().misses == 2 + 5
    assert (store.count(), other.ask("store.delete_many([1])")) == (1, "1")
    assert ages(cache, 1) == [None]
    assert store.count() == 0


def test_appends_of_two_processes_are_all_kept(opened, child):
    store, others = opened(), [child(), child()]
    for number, other in enumerate(others):
        other.tell(f"[store.put_many([1], [{{'seen': [{number}]}}], 'append') for _ in range(40)] and 'done'")
    for _ in range(40):
        store.put_many([1], [{"seen": [2]}], "append")
    assert [other.heard() for other in others] == ["done", "done"]
    assert np.bincount(store.get_many([1])[0]["seen"]).tolist() == [40, 40, 40]
    assert store.generation() == 120


def test_a_full_map_grows(opened):
    store = opened(map_size=SMALL)
    rows = [{"seen": np.full(1000, number)} for number in range(100)]
    store.put_many(range(100), rows)
    for number in range(100, 150):
        store.put_many([number], rows[:1])
    assert store.count() == 150
    assert [row["seen"][0] for row in store.get_many(range(100))] == list(range(100))


def test_a_map_that_another_process_grew_is_followed(opened, child):
    store, other = opened(map_size=SMALL), child()
    rows = "[{'seen': range(1000)}] * 100"
    assert other.ask(f"store.put_many(range(100), {rows})") == "None"
    assert [len(row["seen"]) for row in store.get_many(range(100))] == [1000] * 100
    assert other.ask(f"store.put_many(range(100, 300), {rows} * 2)") == "None"
    store.put_many([1000], [{"age": 31}])
    assert store.count() == 301
    store.put_many(range(300, 900), [{"seen": np.arange(1000)}] * 600)
    assert other.ask("len(list(store.items()))") == "901"


def test_reads_go_on_while_the_map_grows(opened):
    store = opened(map_size=SMALL)
    store.put_many([0], [{"age": 31}])
    stop = threading.Event()
    wrong = []

    def read():
        while not stop.is_set():
            if ages(store, 0) != [[31]] or not any(True for _ in store.items()):
                wrong.append(1)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for number in range(1, 60):
        store.put_many([number], [{"seen": np.arange(1000)}])
    stop.set()
    for reader in readers:
        reader.join()
    assert not wrong
    assert store.count() == 60


def test_a_folder_without_a_store_is_not_opened_read_only(opened, tmp_path):
    with pytest.raises(StoreError, match="users"):
        opened(read_only=True)
    assert not (tmp_path / "users").exists()


def test_another_programs_environment_is_not_opened_read_only(opened, tmp_path):
    lmdb.open(str(tmp_path / "users")).close()
    with pytest.raises(StoreError, match="no feature store"):
        opened(read_only=True)


def test_a_file_in_the_way_is_a_store_error(opened, tmp_path):
    (tmp_path / "users").write_text("not a folder")
    with pytest.raises(StoreError, match="users"):
        opened()


@pytest.mark.parametrize("size", [100, 4096, 5000, 20_000, 300_000])
def test_a_file_that_was_cut_off_is_found_when_it_is_opened(opened, tmp_path, size):
    store = opened()
    store.put_many(range(200), [{"seen": np.arange(1000)}] * 200)
    store.close()
    data = tmp_path / "users" / "data.mdb"
    with data.open("r+b") as file:
        file.truncate(size)
    for read_only in (True, False):
        with pytest.raises(StoreError, match="users"):
            opened(read_only=read_only)


def test_a_file_that_is_rightly_shorter_than_its_pages_is_opened(opened, tmp_path):
    opened().close()
    with lmdb.open(str(tmp_path / "users")) as environment:
        for sizes in ([1500], [9000], [9000, 1500, None]):
            with environment.begin(write=True) as transaction:
                for size in sizes:
                    if size is None:
                        transaction.delete(b"\x00other")
                    else:
                        transaction.put(b"\x00other", bytes(size))
        pages = environment.info()["last_pgno"] + 1
    assert (tmp_path / "users" / "data.mdb").stat().st_size < pages * 4096
    store = opened()
    store.put_many([1], [{"age": 31}])
    assert ages(store, 1) == [[31]]


def test_a_file_of_garbage_is_a_store_error(opened, tmp_path):
    opened().close()
    (tmp_path / "users" / "data.mdb").write_bytes(bytes(range(256)) * 64)
    with pytest.raises(StoreError, match="users"):
        opened()


def test_a_damaged_row_is_an_error_that_names_its_key_and_spares_the_others(opened, tmp_path):
    store = opened()
    store.put_many([6, 7], [{"age": 31}, {"age": 32}])
    store.close()
    with lmdb.open(str(tmp_path / "users")) as environment:
        with environment.begin(write=True) as transaction:
            transaction.put((7 + (3 << 63)).to_bytes(9, "big"), b"\x01\xff\x00\x00rubbish")
    store = opened()
    assert ages(store, 6) == [[31]]
    with pytest.raises(StoreError, match="key 7"):
        store.get_many([6, 7])
    store.put_many([7], [{"age": 33}], "replace")
    assert ages(store, 7) == [[33]]


def test_what_a_store_says_of_itself_is_checked(opened, tmp_path):
    opened().close()
    for about, problem in ((b"{}", "damaged"), (b"\xff", "damaged"), (b'{"format": 2, "key": "int64"}', "format 2")):
        with lmdb.open(str(tmp_path / "users")) as environment:
            with environment.begin(write=True) as transaction:
                transaction.put(b"\x00about", about)
        with pytest.raises(StoreError, match=problem):
            opened()


def test_a_copied_folder_is_another_store(opened, tmp_path):
    store = opened()
    store.put_many([1], [{"age": 31}])
    shutil.copytree(tmp_path / "users", tmp_path / "copy")
    copy = LmdbStore.open(tmp_path / "copy", SCHEMA)
    copy.put_many([1], [{"age": 32}])
    assert (ages(store, 1), ages(copy, 1)) == ([[31]], [[32]])
    copy.close()
