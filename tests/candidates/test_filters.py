"""Filters: each equals its plain Python version."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from candidates.context import Context
from candidates.filters import ExcludedFilter, SeenFilter, age, excluded, predicates, seen
from candidates.parts import Parts
from candidates.source import Filter
from navi.core.candidates import Candidates
from navi.core.errors import ConfigError, InvalidArgument, StageError
from navi.core.ids import Ids
from navi.features.item_table import ItemTable
from navi.features.schema import Field

DAY = 86_400
ITEMS = 30
CREATED = [None if row % 7 == 3 else row * DAY for row in range(ITEMS)]

rows = st.lists(st.integers(0, ITEMS - 1), unique=True, max_size=ITEMS)
ids = st.lists(st.integers(-3, ITEMS + 3), max_size=20)
Keep = Callable[..., list[bool]]


@pytest.fixture(scope="module")
def table(make_table: Callable[..., ItemTable]) -> ItemTable:
    return make_table({"id": list(range(ITEMS)), "created_at": CREATED})


@pytest.fixture(scope="module")
def texts(make_table: Callable[..., ItemTable]) -> ItemTable:
    return make_table({"id": [f"item-{row:02}" for row in range(ITEMS)]})


@pytest.fixture(scope="module")
def parts(table: ItemTable, make_parts: Callable[..., Parts]) -> Parts:
    return make_parts(table, {"seen": Field(dtype="int64", max_length=50), "age": Field(dtype="float32")})


@pytest.fixture(scope="module")
def keep(make_context: Callable[..., Context], candidates_of: Callable[..., Candidates]) -> Keep:
    """What a filter says of rows of a table, for a query with these entries."""

    def keep(entry: Filter, table: ItemTable, rows: list[int], **entries: Any) -> list[bool]:
        mask = entry.keep(make_context(table, **entries), candidates_of(rows))
        assert mask.dtype == np.bool_
        return [bool(value) for value in mask]

    return keep


@given(rows=rows, hidden=ids)
def test_excluded_ids_go_and_unknown_ones_exclude_nothing(
    parts: Parts, keep: Keep, rows: list[int], hidden: list[int]
) -> None:
    kept = keep(excluded(parts), parts.table, rows, exclude=Ids.of(hidden))
    assert kept == [row not in hidden for row in rows]


def test_excluded_ids_of_the_wrong_kind_are_the_callers_error(texts: ItemTable, keep: Keep) -> None:
    with pytest.raises(InvalidArgument, match=r"^exclude: .*integers.*strings"):
        keep(ExcludedFilter(), texts, [1], exclude=Ids.of([3]))


@given(rows=rows, listed=ids)
def test_seen_items_go(parts: Parts, keep: Keep, rows: list[int], listed: list[int]) -> None:
    kept = keep(seen(parts, feature="seen"), parts.table, rows, user={"seen": np.array(listed, dtype=np.int64)})
    assert kept == [row not in listed for row in rows]


def test_seen_items_with_text_ids_go(texts: ItemTable, keep: Keep) -> None:
    user = {"seen": np.array(["item-03", "gone"], dtype=object)}
    assert keep(SeenFilter("seen"), texts, [2, 3], user=user) == [True, False]


def test_an_unknown_user_has_seen_nothing(parts: Parts, keep: Keep) -> None:
    assert keep(seen(parts, feature="seen"), parts.table, [2, 3]) == [True, True]
    assert keep(seen(parts, feature="seen"), parts.table, [2, 3], user={}) == [True, True]


def test_seen_ids_of_another_kind_than_the_items_are_a_fault(texts: ItemTable, keep: Keep) -> None:
    with pytest.raises(StageError, match=r"'seen'.*another kind"):
        keep(SeenFilter("seen"), texts, [1], user={"seen": np.array([3])})


@pytest.mark.parametrize("feature", ["sen", "age"])
def test_a_seen_feature_that_users_do_not_have_is_a_configuration_error(parts: Parts, feature: str) -> None:
    with pytest.raises(ConfigError, match=f"feature: '{feature}' is no list .* they have: seen"):
        seen(parts, feature=feature)


@given(rows=rows, as_of=st.floats(0, 40 * DAY), max_days=st.none() | st.floats(0.1, 40))
def test_items_too_old_unpublished_or_without_a_time_go(
    parts: Parts, keep: Keep, rows: list[int], as_of: float, max_days: float | None
) -> None:
    kept = keep(age(parts, max_days=max_days), parts.table, rows, as_of=as_of)
    expected = []
    for row in rows:
        time = CREATED[row]
        known = time is not None and time <= as_of
        expected.append(known and (max_days is None or as_of - (time or 0) <= max_days * DAY))
    assert kept == expected


def test_age_by_a_column_without_times_is_a_configuration_error(parts: Parts) -> None:
    with pytest.raises(ConfigError, match=r"column: .*'no' is not known"):
        age(parts, column="no")


def test_a_filter_says_why_and_whether_it_needs_the_user(parts: Parts) -> None:
    filters: list[Filter] = [excluded(parts), seen(parts, feature="seen"), predicates(parts), age(parts)]
    assert [(entry.reason, entry.uses_user) for entry in filters] == [
        ("excluded", False),
        ("seen", True),
        ("predicates", False),
        ("age", False),
    ]


def test_no_candidates_are_no_candidates_after_filtering(parts: Parts, keep: Keep) -> None:
    for entry in (excluded(parts), seen(parts, feature="seen"), predicates(parts), age(parts)):
        assert keep(entry, parts.table, [], user={"seen": np.array([1])}, exclude=Ids.of([1])) == []
