"""A vocabulary is a dict from value to position plus one."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from navi.core.errors import BundleError
from navi.core.ids import Ids
from navi.features.vocabulary import Vocabulary

INTEGERS = st.integers(-(2**63), 2**63 - 1)


def objects(values: list[object]) -> np.ndarray:
    made = np.empty(len(values), dtype=object)
    made[:] = values
    return made


@given(st.lists(INTEGERS, unique=True), st.lists(INTEGERS), st.data())
@settings(deadline=None)
def test_integers_are_numbered_as_by_a_dict(known: list[int], others: list[int], data: st.DataObject) -> None:
    asked = others + (data.draw(st.lists(st.sampled_from(known))) if known else [])
    model = {value: position + 1 for position, value in enumerate(known)}
    codes = Vocabulary(Ids.of(known)).encode(np.array(asked, dtype=np.int64))
    assert codes.dtype == np.int64
    assert codes.tolist() == [model.get(value, 0) for value in asked]


@given(st.lists(st.text(max_size=3), unique=True), st.lists(st.text(max_size=3)), st.data())
@settings(deadline=None)
def test_texts_are_numbered_as_by_a_dict(known: list[str], others: list[str], data: st.DataObject) -> None:
    asked = others + (data.draw(st.lists(st.sampled_from(known))) if known else [])
    model = {value: position + 1 for position, value in enumerate(known)}
    vocabulary = Vocabulary(Ids.of_text(known))
    expected = [model.get(value, 0) for value in asked]
    assert vocabulary.encode(objects(asked)).tolist() == expected
    assert [int(vocabulary.encode(objects([value]))[0]) for value in asked] == expected


@pytest.mark.parametrize("values", [Ids.of([5, -2, 9]), Ids.of_text(["b", "", "é"]), Ids.empty(), Ids.of_text([])])
def test_what_is_saved_is_loaded(tmp_path: Path, values: Ids) -> None:
    digest = Vocabulary(values).save(tmp_path / "v.arrow")
    loaded = Vocabulary.load(tmp_path / "v.arrow")
    assert loaded.values == values
    assert (len(loaded), loaded.size) == (len(values), len(values) + 1)
    assert loaded.save(tmp_path / "w.arrow") == digest


def test_the_order_of_values_is_part_of_the_digest(tmp_path: Path) -> None:
    first = Vocabulary(Ids.of([1, 2])).save(tmp_path / "v.arrow")
    assert first != Vocabulary(Ids.of([2, 1])).save(tmp_path / "v.arrow")


@pytest.mark.parametrize("values", [Ids.of([4, 5, 4]), Ids.of_text(["4", "5", "4"])])
def test_a_repeated_value_is_refused_by_name(values: Ids) -> None:
    with pytest.raises(ValueError, match="4"):
        Vocabulary(values)


@pytest.mark.parametrize(
    "values",
    [
        np.array([1.0]),
        np.array([True]),
        np.array([1], np.int32),
        objects(["a"]),
        objects([1]),
        np.array([[1]]),
    ],
)
def test_a_vocabulary_of_integers_takes_nothing_else(values: np.ndarray) -> None:
    with pytest.raises(TypeError, match="values are"):
        Vocabulary(Ids.of([1])).encode(values)


@pytest.mark.parametrize(
    "values",
    [
        np.array([1.0]),
        np.array([True]),
        np.array([1]),
        np.array(["a"]),
        objects([None]),
        objects([1]),
        objects([1, "a"]),
    ],
)
def test_a_vocabulary_of_text_takes_nothing_else(values: np.ndarray) -> None:
    with pytest.raises(TypeError):
        Vocabulary(Ids.of_text(["a"])).encode(values)


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "v.arrow"
    Vocabulary(Ids.of_text(["apple", "pear"])).save(path)
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b"apple", b"aqple"))
    with pytest.raises(BundleError, match="it is damaged"):
        Vocabulary.load(path)
    path.write_bytes(whole[:-20])
    with pytest.raises(BundleError, match="cannot be read"):
        Vocabulary.load(path)
