"""Features of users over a real connection."""

import numpy as np
import pytest

from navi.core import errors
from navi.core.column import Column
from navi.features.memory_store import MemoryStore
from navi.features.schema import FeatureSchema, Field

SCHEMA = FeatureSchema(
    {
        "age": Field(dtype="float32"),
        "taste": Field(dtype="float32", width=2),
        "seen": Field(dtype="int64", max_length=3),
        "city": Field(dtype="string"),
        "member": Field(dtype="bool"),
    }
)


@pytest.fixture
def at(navi):
    with navi.serve(stores={"users": MemoryStore(SCHEMA)}, http_address="") as running:
        yield running


def plain(row):
    return None if row is None else {name: values.tolist() for name, values in row.items()}


def test_what_is_written_is_read(at):
    columns = {
        "age": [31, None],
        "taste": np.eye(2),
        "seen": [[1, 2], []],
        "city": ["Łódź", None],
        "member": [True, False],
    }
    assert at.client.upsert([1, 2], columns) == 2
    one, two, three = map(plain, at.client.get([1, 2, 3]))
    assert one == {"age": [31], "taste": [1, 0], "seen": [1, 2], "city": ["Łódź"], "member": [True]}
    assert two == {"taste": [0, 1], "seen": [], "member": [False]}
    assert three is None


def test_each_mode_writes_in_its_way(at):
    at.client.upsert([1], {"age": [30], "seen": [[1, 2]]})
    at.client.upsert([1], {"seen": [[3, 4]]}, mode="append")
    assert plain(at.client.get([1])[0]) == {"age": [30], "seen": [2, 3, 4]}
    at.client.upsert([1], {"city": ["Rome"]}, mode="merge")
    assert plain(at.client.get([1])[0]) == {"age": [30], "seen": [2, 3, 4], "city": ["Rome"]}
    at.client.upsert([1], {"age": [31]}, mode="replace")
    assert plain(at.client.get([1])[0]) == {"age": [31]}


def test_only_the_names_asked_for_come_back(at):
    at.client.upsert([1], {"age": [30], "city": ["Rome"]})
    assert plain(at.client.get([1], ["city", "city"])[0]) == {"city": ["Rome"]}


def test_what_is_deleted_is_gone(at):
    at.client.upsert([1, 2], {"age": [30, 40]})
    assert at.client.delete([1, 5]) == 1
    assert [plain(row) for row in at.client.get([1, 2], ["age"])] == [None, {"age": [40]}]


def test_no_keys_are_no_rows(at):
    assert at.client.upsert([], {}) == 0
    assert at.client.get([]) == []
    assert at.client.delete([]) == 0


@pytest.mark.parametrize(
    ("columns", "field", "problem"),
    [
        ({"age": [1], "height": [2]}, "columns[1] (height)", "is no feature here"),
        ({"age": ["old"]}, "columns[0] (age)", "expected"),
        ({"taste": [1.0]}, "columns[0] (taste)", "has 1 values, where 2 are expected"),
        ({"seen": [[1, 2, 3, 4]]}, "columns[0] (seen)", "at most 3"),
        ({"age": [1, 2]}, "columns[0] (age)", "has 2 rows, where 1 are expected"),
        ({"age": [np.inf]}, "columns[0] (age)", "is not finite in row 0"),
    ],
)
def test_what_does_not_fit_is_refused_by_its_place_and_nothing_is_written(at, columns, field, problem):
    with pytest.raises(errors.InvalidArgument) as error:
        at.client.upsert([1], columns)
    assert error.value.field == field
    assert problem in error.value.problem
    assert at.client.get([1]) == [None]


def test_a_key_of_the_wrong_kind_is_refused(at):
    for call in (lambda: at.client.upsert(["u"], {}), lambda: at.client.get(["u"]), lambda: at.client.delete(["u"])):
        with pytest.raises(errors.InvalidArgument) as error:
            call()
        assert error.value.field == "keys"


def test_an_unknown_name_is_refused_by_its_place(at):
    with pytest.raises(errors.InvalidArgument, match=r"names\[1\] \(height\): is no feature here; known: age"):
        at.client.get([1], ["age", "height"])


def test_an_unknown_store_is_told(at):
    with pytest.raises(errors.NotFound, match="store 'items' is not known; known: users"):
        at.client.get([1], store="items")


def test_a_server_without_stores_says_so(navi):
    with navi.serve() as at, pytest.raises(errors.NotFound, match="store"):
        at.client.get([1])


def test_a_column_says_what_is_missing_itself(at):
    ages = Column(np.array([1, 2], dtype=np.float32), valid=np.array([False, True]))
    at.client.upsert([1, 2], {"age": ages})
    assert [plain(row) for row in at.client.get([1, 2])] == [{}, {"age": [2]}]
