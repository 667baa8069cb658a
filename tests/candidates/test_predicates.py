"""Predicates: every operator on every type equals its plain Python version; what does not fit is named."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from candidates.context import Context
from candidates.filters import PredicatesFilter
from navi.core.candidates import Candidates
from navi.core.column import Column
from navi.core.errors import InvalidArgument
from navi.core.query import Predicate
from navi.features.item_table import ItemTable

ITEMS = 24
_DRAW = np.random.default_rng(3)


def with_gaps(values: list[Any]) -> list[Any]:
    return [None if gap == 0 else value for gap, value in zip(_DRAW.integers(0, 5, ITEMS), values, strict=True)]


TEXTS = ["", "red", "green", "blue", "ünï"]
COLUMNS: dict[str, list[Any]] = {
    "number": with_gaps(_DRAW.integers(-3, 4, ITEMS).tolist()),
    "fraction": with_gaps([float(value) / 2 for value in _DRAW.integers(-3, 4, ITEMS)]),
    "flag": with_gaps([bool(value) for value in _DRAW.integers(0, 2, ITEMS)]),
    "colour": with_gaps([TEXTS[value] for value in _DRAW.integers(0, 5, ITEMS)]),
    "tags": with_gaps([[TEXTS[value] for value in _DRAW.integers(0, 5, size)] for size in _DRAW.integers(0, 4, ITEMS)]),
    "sizes": with_gaps([_DRAW.integers(0, 5, size).tolist() for size in _DRAW.integers(0, 4, ITEMS)]),
    "pair": with_gaps([_DRAW.integers(0, 5, 2).tolist() for _ in range(ITEMS)]),
}
VALUES = {
    "number": st.integers(-4, 4),
    "fraction": st.integers(-3, 3).map(lambda value: value / 2),
    "flag": st.booleans(),
    "colour": st.sampled_from([*TEXTS, "unknown"]),
    "tags": st.sampled_from([*TEXTS, "unknown"]),
    "sizes": st.integers(0, 6),
    "pair": st.integers(0, 6),
}
DTYPES = {
    "number": np.int64, "fraction": np.float32, "flag": np.bool_, "colour": object, "tags": object,
    "sizes": np.int64, "pair": np.int64,
}  # fmt: skip

rows = st.lists(st.integers(0, ITEMS - 1), unique=True, max_size=ITEMS)
Kept = Callable[..., list[bool]]


@pytest.fixture(scope="module")
def table(make_table: Callable[..., ItemTable]) -> ItemTable:
    pair = pa.array(COLUMNS["pair"], pa.list_(pa.int64(), 2))
    return make_table({"id": list(range(ITEMS)), **COLUMNS, "pair": pair})


@pytest.fixture(scope="module")
def kept(table: ItemTable, make_context: Callable[..., Context], candidates_of: Callable[..., Candidates]) -> Kept:
    """What the filter says of rows under some predicates."""

    def keep(rows: list[int], *asked: Predicate) -> list[bool]:
        mask = PredicatesFilter().keep(make_context(table, predicates=asked), candidates_of(rows))
        return [bool(value) for value in mask]

    return keep


@st.composite
def memberships(draw: st.DrawFn) -> tuple[str, str, list[Any]]:
    column = draw(st.sampled_from(sorted(COLUMNS)))
    return column, draw(st.sampled_from(["in", "not_in"])), draw(st.lists(VALUES[column], max_size=4))


@st.composite
def bounds(draw: st.DrawFn) -> tuple[str, str, list[Any]]:
    column = draw(st.sampled_from(["number", "fraction"]))
    return column, draw(st.sampled_from(["at_least", "at_most"])), [draw(VALUES[column])]


def naive(condition: tuple[str, str, list[Any]], row: int) -> bool:
    column, operator, wanted = condition
    value = COLUMNS[column][row]
    if operator in ("in", "not_in"):
        held = [] if value is None else value if isinstance(value, list) else [value]
        return any(one in wanted for one in held) == (operator == "in")
    if value is None:
        return False
    return bool(value >= wanted[0] if operator == "at_least" else value <= wanted[0])


def predicate(condition: tuple[str, str, list[Any]], dtype: Any = None) -> Predicate:
    column, operator, wanted = condition
    values = np.array(wanted, dtype=dtype or DTYPES[column])
    return Predicate(column=column, operator=operator, values=Column(values))  # type: ignore[arg-type]


@given(rows=rows, conditions=st.lists(memberships() | bounds(), max_size=3))
def test_an_item_stays_where_it_meets_every_predicate(
    kept: Kept, rows: list[int], conditions: list[tuple[str, str, list[Any]]]
) -> None:
    asked = [predicate(condition) for condition in conditions]
    assert kept(rows, *asked) == [all(naive(condition, row) for condition in conditions) for row in rows]


def test_integers_are_taken_for_a_column_of_fractions(kept: Kept) -> None:
    whole = list(range(ITEMS))
    for condition in (("fraction", "in", [1, -1]), ("fraction", "at_least", [1])):
        assert kept(whole, predicate(condition, np.int64)) == [naive(condition, row) for row in whole]


def test_the_items_own_ids_can_be_asked_for(kept: Kept) -> None:
    assert kept([2, 3], Predicate(column="id", operator="in", values=Column(np.array([3, 99])))) == [False, True]


@pytest.mark.parametrize(
    ("column", "operator", "values", "says"),
    [
        ("nothing", "in", Column(np.array([1])), r"predicates\[1\]\.column: .*'nothing' is not known"),
        ("number", "in", Column(np.array(["1"], dtype=object)), r"predicates\[1\]\.values: are string.*int64"),
        ("number", "at_least", Column(np.array([0.5], dtype=np.float32)), r"\.values: are float32.*int64"),
        ("colour", "in", Column(np.array([1])), r"\.values: are int64.*string"),
        ("flag", "in", Column(np.array([1])), r"\.values: are int64.*bool"),
        ("flag", "at_least", Column(np.array([True])), r"\.operator: .*number"),
        ("colour", "at_most", Column(np.array(["a"], dtype=object)), r"\.operator: .*number"),
        ("sizes", "at_most", Column(np.array([1])), r"\.operator: .*one number an item"),
        ("pair", "at_most", Column(np.array([1])), r"\.operator: .*one number an item"),
        ("number", "at_most", Column(np.array([1, 2])), r"\.values: a bound is one number, not 2"),
        ("number", "at_most", Column(np.array([], dtype=np.int64)), r"\.values: a bound is one number, not 0"),
        ("fraction", "in", Column(np.array([np.nan], dtype=np.float32)), r"\.values: must be finite"),
        ("number", "in", Column(np.array([1]), valid=np.array([False])), r"\.values: must not be missing"),
        ("number", "in", Column(np.array([[1, 2]])), r"\.values: must be one value a row"),
        ("number", "in", Column(np.array([1]), np.array([0, 1])), r"\.values: must be one value a row"),
    ],
)
def test_a_predicate_that_does_not_fit_is_named_even_without_candidates(
    kept: Kept, column: str, operator: Any, values: Column, says: str
) -> None:
    fits = Predicate(column="number", operator="in", values=Column(np.array([1])))
    with pytest.raises(InvalidArgument, match=says):
        kept([], fits, Predicate(column=column, operator=operator, values=values))
