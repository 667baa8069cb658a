"""Every feature store keeps one contract."""

import tempfile
import threading
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from navi.core.clock import ManualClock
from navi.core.errors import ConfigError, InvalidArgument
from navi.features.cache import FeatureCache
from navi.features.lmdb_store import LmdbStore
from navi.features.memory_store import MemoryStore
from navi.features.schema import FeatureSchema, Field

SCHEMA = FeatureSchema(
    {
        "age": Field(dtype="float32"),
        "country": Field(dtype="string"),
        "seen": Field(dtype="int64", max_length=4),
        "tags": Field(dtype="string", max_length=2),
    }
)
KINDS = ["memory", "lmdb", "cached memory", "cached lmdb", "tightly cached memory"]


def open_store(kind, path, key):
    store = LmdbStore.open(path, SCHEMA, key=key) if "lmdb" in kind else MemoryStore(SCHEMA, key=key)
    if "cached" in kind:
        return FeatureCache(store, max_bytes=2500 if "tightly" in kind else 1 << 20, ttl_s=60, clock=ManualClock())
    return store


@pytest.fixture(params=KINDS)
def open_as(request, tmp_path):
    with ExitStack() as closing:

        def opened(key):
            store = open_store(request.param, tmp_path / "users", key)
            closing.callback(store.close)
            return store

        yield opened


@pytest.fixture
def store(open_as):
    return open_as("int64")


def plain(row):
    return None if row is None else {name: values.tolist() for name, values in row.items()}


def get(store, *keys):
    return [plain(row) for row in store.get_many(keys)]


def test_rows_come_back_position_for_position(store):
    store.put_many([1, 2], [{"age": 31}, {"country": "NL"}])
    assert get(store, 2, 9, 1, 2) == [{"country": ["NL"]}, None, {"age": [31]}, {"country": ["NL"]}]
    assert get(store, 2, 9, 1, 2) == [{"country": ["NL"]}, None, {"age": [31]}, {"country": ["NL"]}]
    assert get(store) == []


def test_values_come_back_in_the_schemas_types(store):
    store.put_many([1], [{"age": 31, "country": "NL", "seen": [], "tags": ["x"]}])
    (row,) = store.get_many([1])
    assert {name: values.dtype for name, values in row.items()} == {
        "age": np.float32,
        "country": object,
        "seen": np.int64,
        "tags": object,
    }


def test_merge_keeps_the_features_that_are_not_given(store):
    store.put_many([1], [{"age": 31, "seen": [1, 2]}])
    store.put_many([1], [{"seen": [3]}], "merge")
    assert get(store, 1) == [{"age": [31], "seen": [3]}]


def test_replace_drops_the_features_that_are_not_given(store):
    store.put_many([1], [{"age": 31, "seen": [1, 2]}])
    store.put_many([1], [{"country": "NL"}], "replace")
    assert get(store, 1) == [{"country": ["NL"]}]


def test_append_puts_behind_and_drops_the_oldest(store):
    store.put_many([1], [{"age": 31, "seen": [1, 2, 3], "tags": ["a"]}])
    store.put_many([1, 2], [{"seen": [4, 5], "tags": ["b", "c"]}, {"seen": [7]}], "append")
    assert get(store, 1, 2) == [{"age": [31], "seen": [2, 3, 4, 5], "tags": ["b", "c"]}, {"seen": [7]}]


def test_append_to_a_feature_that_is_not_ragged_is_refused(store):
    store.put_many([1], [{"age": 31}])
    with pytest.raises(InvalidArgument, match="only ragged") as refused:
        store.put_many([2, 1], [{"seen": [1]}, {"seen": [1], "age": 32}], "append")
    assert refused.value.field == "age"
    assert get(store, 1, 2) == [{"age": [31]}, None]


def test_a_key_given_twice_is_written_twice_in_order(store):
    store.put_many([1, 1], [{"age": 31, "country": "NL"}, {"age": 32}])
    assert get(store, 1) == [{"age": [32], "country": ["NL"]}]
    store.put_many([1, 1], [{"seen": [1]}, {"seen": [2]}], "append")
    assert get(store, 1) == [{"age": [32], "country": ["NL"], "seen": [1, 2]}]
    store.put_many([1, 1], [{"seen": [1]}, {"age": 33}], "replace")
    assert get(store, 1) == [{"age": [33]}]


@pytest.mark.parametrize("mode", ["merge", "replace", "append"])
def test_a_row_without_features_is_there(store, mode):
    store.put_many([1], [{}], mode)
    assert get(store, 1) == [{}]
    assert store.count() == 1


def test_one_bad_row_keeps_all_from_being_written(store):
    store.put_many([1], [{"age": 31}])
    before = store.generation()
    for bad, field in (({"agee": 3}, "agee"), ({"age": float("nan")}, "age"), ({"seen": [1] * 5}, "seen")):
        with pytest.raises(InvalidArgument) as refused:
            store.put_many([1, 2], [{"age": 32}, bad])
        assert refused.value.field == field
    assert get(store, 1, 2) == [{"age": [31]}, None]
    assert store.generation() == before


def test_as_many_rows_as_keys_are_expected(store):
    with pytest.raises(InvalidArgument) as refused:
        store.put_many([1, 2], [{"age": 31}])
    assert refused.value.field == "rows"


def test_an_unknown_mode_is_refused(store):
    with pytest.raises(InvalidArgument) as refused:
        store.put_many([1], [{"age": 31}], "upsert")
    assert refused.value.field == "mode"


def test_rows_are_read_only(store):
    store.put_many([1], [{"age": 31, "country": "NL"}])
    (row,) = store.get_many([1])
    for values in row.values():
        with pytest.raises(ValueError, match="read-only"):
            values[0] = values[0]
    with pytest.raises(TypeError):
        row["age"] = row["country"]


def test_a_callers_array_can_change_after_it_was_written(store):
    seen = np.array([1, 2])
    store.put_many([1], [{"seen": seen}])
    seen[:] = 9
    assert get(store, 1) == [{"seen": [1, 2]}]


def test_a_row_that_was_read_stays_as_it_was(store):
    store.put_many([1], [{"age": 31}])
    (row,) = store.get_many([1])
    store.put_many([1], [{"age": 32}])
    assert plain(row) == {"age": [31]}


def test_delete_forgets_and_counts_what_was_there(store):
    store.put_many([1, 2], [{"age": 31}, {"age": 32}])
    assert store.delete_many([1, 7, 1]) == 1
    assert get(store, 1, 2) == [None, {"age": [32]}]
    assert store.count() == 1
    store.put_many([1], [{"seen": [1]}])
    assert get(store, 1) == [{"seen": [1]}]


def test_every_change_raises_the_generation_and_nothing_else_does(store):
    seen = [store.generation()]

    def step(rises):
        seen.append(store.generation())
        assert (seen[-1] > seen[-2]) == rises

    assert seen == [0]
    store.put_many([1], [{"age": 31}])
    step(rises=True)
    store.put_many([1], [{"age": 31}], "replace")
    step(rises=True)
    store.put_many([1], [{"seen": [1]}], "append")
    step(rises=True)
    store.get_many([1, 2])
    step(rises=False)
    store.put_many([], [])
    step(rises=False)
    assert store.delete_many([2]) == 0
    step(rises=False)
    assert store.delete_many([1]) == 1
    step(rises=True)
    assert store.delete_many([]) == 0
    step(rises=False)


def test_items_are_every_row_in_order_of_integer_keys(store):
    keys = [5, -1, 0, 2**63 - 1, -(2**63), 256, 255]
    store.put_many(keys, [{"age": number} for number in range(len(keys))])
    expected = sorted(zip(keys, range(len(keys)), strict=True))
    assert [(key, plain(row)) for key, row in store.items()] == [(key, {"age": [age]}) for key, age in expected]


def test_items_are_every_row_in_order_of_text_keys(open_as):
    store = open_as("string")
    keys = ["b", "a", "\U0001f600", "\uffff", "ab", "\0", "Z"]
    store.put_many(keys, [{"country": key} for key in keys])
    assert [key for key, _ in store.items()] == sorted(keys, key=str.encode)
    assert all(plain(row) == {"country": [key]} for key, row in store.items())


def test_items_are_every_row_where_keys_are_as_long_as_they_may_be(open_as):
    store = open_as("string")
    keys = [f"{number:0510}" for number in range(520)]
    store.put_many(keys, [{"age": 31}] * len(keys))
    assert [key for key, _ in store.items()] == keys


def test_items_of_many_rows_may_be_rewritten_while_they_are_read(store):
    keys = list(range(1100))
    store.put_many(keys, [{"age": 1}] * len(keys))
    read = []
    for key, row in store.items():
        read.append(key)
        if key % 300 == 0:
            store.put_many([key], [{"age": row["age"] + 1}])
            store.delete_many([key - 1])
    assert read == keys
    assert get(store, 300, 299) == [{"age": [2]}, None]


def test_an_empty_store_has_no_items(store):
    assert list(store.items()) == []
    assert store.count() == 0


BAD_INT_KEYS = ["1", "", 2**63, -(2**63) - 1, True, 1.0, None, b"1", (1,)]
BAD_TEXT_KEYS = ["", 1, None, b"a", "\ud800", "x" * 511, "é" * 256]


@pytest.mark.parametrize(
    ("kind", "bad"), [("int64", bad) for bad in BAD_INT_KEYS] + [("string", bad) for bad in BAD_TEXT_KEYS]
)
def test_a_key_that_the_store_cannot_have_is_refused(open_as, kind, bad):
    store = open_as(kind)
    good = 1 if kind == "int64" else "a"
    store.put_many([good], [{"age": 31}])
    before = store.generation(), get(store, good)
    for call in (store.get_many, store.delete_many, lambda keys: store.put_many(keys, [{"age": 1}] * 2)):
        with pytest.raises(InvalidArgument) as refused:
            call([good, bad])
        assert refused.value.field == "key"
    assert before == (store.generation(), get(store, good))


def test_the_longest_key_is_510_bytes(open_as):
    store = open_as("string")
    store.put_many(["é" * 255], [{"age": 31}])
    assert get(store, "é" * 255) == [{"age": [31]}]


def test_numpy_integers_are_keys(store):
    store.put_many(np.array([1, 2]), [{"age": 31}, {"age": 32}])
    assert get(store, 1, np.int32(2)) == [{"age": [31]}, {"age": [32]}]
    assert [type(key) for key, _ in store.items()] == [int, int]


def test_a_store_says_which_keys_and_features_it_has(open_as):
    store = open_as("string")
    assert store.key == "string"
    assert store.schema == SCHEMA


def test_appends_from_many_threads_are_all_kept(store):
    together = threading.Barrier(4)

    def append(number):
        together.wait()
        for _ in range(5):
            store.put_many([number % 2, 7], [{"tags": [str(number)]}, {"age": number}], "merge")
            store.put_many([number], [{"seen": [number]}], "append")

    threads = [threading.Thread(target=append, args=(number,)) for number in range(10, 14)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert get(store, 10, 11, 12, 13) == [{"seen": [number] * 4} for number in range(10, 14)]
    assert store.generation() == 40


@pytest.mark.parametrize(
    ("max_bytes", "ttl_s", "field"), [(0, 60, "max_bytes"), (1, 0, "ttl_s"), (1, float("nan"), "ttl_s")]
)
def test_a_cache_without_room_or_time_is_refused(max_bytes, ttl_s, field):
    with pytest.raises(ConfigError) as refused:
        FeatureCache(MemoryStore(SCHEMA), max_bytes=max_bytes, ttl_s=ttl_s, clock=ManualClock())
    assert refused.value.field == field


KEYS = st.integers(-2, 3)
TEXTS = st.sampled_from(["", "a", "é"])
SEEN = st.lists(st.integers(-3, 3), max_size=4)
TAGS = st.lists(TEXTS, max_size=2)
ROWS = st.fixed_dictionaries({}, optional={"age": st.integers(0, 9), "country": TEXTS, "seen": SEEN, "tags": TAGS})
RAGGED = st.fixed_dictionaries({}, optional={"seen": SEEN, "tags": TAGS})


class StoreMachine(RuleBasedStateMachine):
    """A store beside a plain dictionary that does the same."""

    kind = "memory"

    def __init__(self):
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.store = open_store(self.kind, Path(self.folder.name) / "users", "int64")
        self.model = {}

    def teardown(self):
        self.store.close()
        self.folder.cleanup()

    @rule(writes=st.lists(st.tuples(KEYS, ROWS), max_size=4), mode=st.sampled_from(["merge", "replace"]))
    def put(self, writes, mode):
        self.store.put_many([key for key, _ in writes], [row for _, row in writes], mode)
        for key, row in writes:
            listed = {name: value if isinstance(value, list) else [value] for name, value in row.items()}
            self.model[key] = listed if mode == "replace" else {**self.model.get(key, {}), **listed}

    @rule(writes=st.lists(st.tuples(KEYS, RAGGED), max_size=4))
    def append(self, writes):
        self.store.put_many([key for key, _ in writes], [row for _, row in writes], "append")
        for key, row in writes:
            before = self.model.get(key, {})
            joined = {name: before.get(name, []) + values for name, values in row.items()}
            kept = {name: values[-SCHEMA.fields[name].max_length :] for name, values in joined.items()}
            self.model[key] = {**before, **kept}

    @rule(keys=st.lists(KEYS, max_size=4))
    def delete(self, keys):
        there = {key for key in keys if key in self.model}
        assert self.store.delete_many(keys) == len(there)
        for key in there:
            del self.model[key]

    @rule(keys=st.lists(KEYS, max_size=8))
    def get(self, keys):
        assert get(self.store, *keys) == [self.model.get(key) for key in keys]

    @precondition(lambda self: "cached" in self.kind)
    @rule(seconds=st.sampled_from([1, 30, 60]))
    def wait(self, seconds):
        self.store._clock.advance(seconds)

    @rule()
    def read_all(self):
        assert [(key, plain(row)) for key, row in self.store.items()] == sorted(self.model.items())

    @invariant()
    def counts(self):
        assert self.store.count() == len(self.model)


@pytest.mark.parametrize(
    ("kind", "examples"), [("memory", 60), ("lmdb", 15), ("tightly cached memory", 100), ("cached lmdb", 10)]
)
def test_a_store_does_what_a_dictionary_does(kind, examples):
    machine = type(f"{kind} machine", (StoreMachine,), {"kind": kind})
    chosen = settings(max_examples=examples, stateful_step_count=25, deadline=None)
    machine.TestCase.settings = chosen
    machine.TestCase("runTest").runTest()
