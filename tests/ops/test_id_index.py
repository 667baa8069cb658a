"""Ids to rows: every id is found where it is, and no other is found."""

import gc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from navi.core.ids import Ids
from navi.ops import IdIndex, reference

LAW = settings(deadline=None)
INTEGER = st.one_of(st.integers(-5, 5), st.integers(-(2**63), 2**63 - 1))
TEXT = st.one_of(st.text(alphabet="aé\0", max_size=4), st.text(max_size=40))


def integers(*values: int) -> Ids:
    return Ids(np.array(values, dtype=np.int64))


@LAW
@given(st.lists(INTEGER, unique=True, max_size=100), st.lists(INTEGER, max_size=100))
def test_integers_are_looked_up_as_the_reference_does(held: list[int], asked: list[int]) -> None:
    ids, wanted = integers(*held), integers(*asked, *held[::-1])
    index = IdIndex(ids)
    assert len(index) == len(held)
    np.testing.assert_array_equal(index.lookup(wanted), reference.IdIndex(ids).lookup(wanted))


@LAW
@given(st.lists(TEXT, unique=True, max_size=100), st.lists(TEXT, max_size=100))
def test_texts_are_looked_up_as_the_reference_does(held: list[str], asked: list[str]) -> None:
    ids, wanted = Ids.of_text(held), Ids.of_text([*asked, *held[::-1]])
    index = IdIndex(ids)
    assert len(index) == len(held)
    np.testing.assert_array_equal(index.lookup(wanted), reference.IdIndex(ids).lookup(wanted))


@LAW
@given(st.lists(st.one_of(INTEGER, st.integers(0, 20)), max_size=60))
def test_the_first_repeated_integer_is_named(held: list[int]) -> None:
    check_repeat(integers(*held))


@LAW
@given(st.lists(st.one_of(TEXT, st.sampled_from(["", "a", "longer than eight bytes"])), max_size=60))
def test_the_first_repeated_text_is_named(held: list[str]) -> None:
    check_repeat(Ids.of_text(held))


def check_repeat(ids: Ids) -> None:
    def complaint(make: Callable[[Ids], object]) -> str | None:
        try:
            make(ids)
        except ValueError as error:
            return str(error)
        return None

    assert complaint(IdIndex) == complaint(reference.IdIndex)
    assert (complaint(IdIndex) is None) == (len(set(ids.tolist())) == len(ids))


def test_many_ids_of_either_kind_are_found() -> None:
    values = np.random.default_rng(3).permutation(50_000).astype(np.int64) * 1024
    integer_index = IdIndex(Ids(values))
    np.testing.assert_array_equal(integer_index.lookup(Ids(values)), np.arange(50_000))
    assert (integer_index.lookup(Ids(values + 1)) == -1).all()
    texts = Ids.of_text([f"item-{value:09d}" for value in values])
    text_index = IdIndex(texts)
    np.testing.assert_array_equal(text_index.lookup(texts), np.arange(50_000))
    assert (text_index.lookup(Ids.of_text([f"item-{value:09d}x" for value in values])) == -1).all()


def test_texts_that_differ_only_in_zero_bytes_are_different() -> None:
    index = IdIndex(Ids.of_text(["", "\0", "\0\0", "a", "a\0"]))
    assert index.lookup(Ids.of_text(["a\0", "a", "\0\0", "\0", "", "\0\0\0"])).tolist() == [4, 3, 2, 1, 0, -1]


def test_a_slice_of_a_larger_text_column_is_taken() -> None:
    whole = Ids.of_text(["one", "two", "three", "four"])
    assert whole.offsets is not None
    part = Ids(whole.values, whole.offsets[1:4])
    assert IdIndex(part).lookup(Ids.of_text(["one", "three", "four"])).tolist() == [-1, 1, -1]


def test_an_index_keeps_the_texts_it_reads_alive() -> None:
    index = IdIndex(Ids.of_text([f"{number:020d}" for number in range(1000)]))
    gc.collect()
    Ids.of_text(["overwrites freed memory" * 1000])
    assert index.lookup(Ids.of_text([f"{999:020d}"])).tolist() == [999]


def test_an_empty_index_knows_no_id_and_no_ids_are_of_either_kind() -> None:
    assert IdIndex(Ids.empty()).lookup(integers(0)).tolist() == [-1]
    assert IdIndex(Ids.empty(text=True)).lookup(Ids.of_text([""])).tolist() == [-1]
    assert IdIndex(Ids.of_text(["a"])).lookup(Ids.empty()).tolist() == []


def test_ids_of_the_other_kind_are_refused() -> None:
    with pytest.raises(TypeError, match=r"^ids: are text"):
        IdIndex(integers(1)).lookup(Ids.of_text(["1"]))
    with pytest.raises(TypeError, match=r"^ids: are integers"):
        IdIndex(Ids.of_text(["1"])).lookup(integers(1))


def test_wrong_buffers_are_refused_by_name() -> None:
    with pytest.raises(TypeError, match=r"^ids: is int32"):
        IdIndex(Ids(np.zeros(1, np.int32)))
    with pytest.raises(ValueError, match=r"^ids\.offsets: is empty"):
        IdIndex(Ids(np.zeros(0, np.uint8), np.zeros(0, np.int64)))
    with pytest.raises(TypeError, match=r"^ids\.offsets: is int32"):
        IdIndex(Ids(np.zeros(1, np.uint8), np.zeros(2, np.int32)))


@pytest.mark.parametrize("offsets", [[0, 3], [-1, 1], [1, 0], [0, 2, 1]])
def test_offsets_outside_the_text_are_refused(offsets: list[int]) -> None:
    broken = Ids(np.zeros(2, np.uint8), np.array(offsets, dtype=np.int64))
    with pytest.raises(ValueError, match=r"^ids: "):
        IdIndex(broken)
    with pytest.raises(ValueError, match=r"^ids: "):
        IdIndex(Ids.of_text(["a"])).lookup(broken)


def test_threads_share_an_index() -> None:
    values = np.arange(20_000, dtype=np.int64) * 7
    index = IdIndex(Ids(values))
    with ThreadPoolExecutor(4) as pool:
        for rows in pool.map(lambda _: index.lookup(Ids(values)), range(16)):
            np.testing.assert_array_equal(rows, np.arange(len(values)))
