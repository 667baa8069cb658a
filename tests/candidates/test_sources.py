"""Popular, recent and supplied: what they give, in which order, and what they leave out."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from candidates.context import Context
from candidates.parts import Parts
from candidates.popular import popular
from candidates.recent import recent
from candidates.supplied import SuppliedSource
from navi.core.errors import ConfigError, InvalidArgument
from navi.core.ids import Ids
from navi.core.query import Supplied
from navi.features.item_table import ItemTable

DAY = 86_400
POPULARITY = [3, 9, None, 9, -2, 2**60, 2**60 + 1, 3]
CREATED = [5 * DAY, 2 * DAY, 9 * DAY, 2 * DAY, None, 7 * DAY, 1 * DAY, 5 * DAY]


@pytest.fixture(scope="module")
def table(make_table: Callable[..., ItemTable]) -> ItemTable:
    return make_table(
        {
            "id": list(range(100, 108)),
            "popularity": POPULARITY,
            "share": [0.5, np.nan, 0.25, 0.5, 1.0, 0.0, -1.0, None],
            "created_at": CREATED,
            "name": ["x"] * 8,
            "pair": [[1, 2]] * 8,
        }
    )


@pytest.fixture(scope="module")
def parts(table: ItemTable, make_parts: Callable[..., Parts]) -> Parts:
    return make_parts(table)


def ranked(values: list[int | None], allowed: Callable[[int], bool]) -> list[int]:
    known = [(-value, row) for row, value in enumerate(values) if value is not None and allowed(value)]
    return [row for _, row in sorted(known)]


@given(quota=st.integers(1, 12))
def test_popular_gives_the_greatest_first_ties_by_row(
    parts: Parts, make_context: Callable[..., Context], quota: int
) -> None:
    found = popular(parts).fetch(make_context(parts.table), quota)
    assert found.rows.tolist() == ranked(POPULARITY, lambda _: True)[:quota]
    assert found.scores.dtype == np.float32


def test_popular_by_a_fraction_leaves_out_what_has_none(parts: Parts, make_context: Callable[..., Context]) -> None:
    found = popular(parts, column="share").fetch(make_context(parts.table), 10)
    assert found.rows.tolist() == [4, 0, 3, 2, 5, 6]
    assert found.scores.tolist() == [1.0, 0.5, 0.5, 0.25, 0.0, -1.0]


@pytest.mark.parametrize(("column", "says"), [("no", "'no' is not known"), ("name", "number"), ("pair", "number")])
def test_popular_by_no_number_is_a_configuration_error(parts: Parts, column: str, says: str) -> None:
    with pytest.raises(ConfigError, match=f"^column: .*{says}"):
        popular(parts, column=column)


@given(as_of=st.floats(0, 10 * DAY), quota=st.integers(1, 12))
def test_recent_gives_the_newest_as_of_the_query(
    parts: Parts, make_context: Callable[..., Context], as_of: float, quota: int
) -> None:
    found = recent(parts).fetch(make_context(parts.table, as_of=as_of), quota)
    assert found.rows.tolist() == ranked(CREATED, lambda time: time <= as_of)[:quota]
    ages = [(as_of - (CREATED[row] or 0)) / DAY for row in found.rows.tolist()]
    np.testing.assert_allclose(found.scores, np.negative(ages), rtol=1e-6)


def test_an_item_of_this_very_moment_is_recent(parts: Parts, make_context: Callable[..., Context]) -> None:
    assert recent(parts).fetch(make_context(parts.table, as_of=1.0 * DAY), 5).rows.tolist() == [6]
    assert recent(parts).fetch(make_context(parts.table, as_of=1.0 * DAY - 0.5), 5).rows.tolist() == []


def test_recent_by_a_fraction_is_a_configuration_error(parts: Parts) -> None:
    with pytest.raises(ConfigError, match=r"column: .* seconds"):
        recent(parts, column="share")


@given(ids=st.lists(st.integers(97, 110), max_size=30), quota=st.integers(1, 12))
def test_supplied_candidates_keep_their_order_and_what_is_dropped_is_counted(
    table: ItemTable, make_context: Callable[..., Context], ids: list[int], quota: int
) -> None:
    found = SuppliedSource().fetch(make_context(table, supplied=Supplied(ids=Ids.of(ids))), quota)
    known = [number for number in ids if 100 <= number < 108]
    distinct = list(dict.fromkeys(known))
    assert (found.rows + 100).tolist() == distinct[:quota]
    assert len(found.scores) == len(found.rows)
    dropped = {
        "unknown_item": len(ids) - len(known),
        "duplicate": len(known) - len(distinct),
        "quota": max(len(distinct) - quota, 0),
    }
    assert dict(found.dropped) == {reason: count for reason, count in dropped.items() if count}


def test_a_query_that_supplies_nothing_gets_nothing(table: ItemTable, make_context: Callable[..., Context]) -> None:
    assert len(SuppliedSource().fetch(make_context(table), 5).rows) == 0
    assert len(SuppliedSource().fetch(make_context(table, supplied=Supplied(ids=Ids.empty())), 5).rows) == 0


def test_supplied_ids_of_the_wrong_kind_are_the_callers_error(
    table: ItemTable, make_context: Callable[..., Context]
) -> None:
    with pytest.raises(InvalidArgument, match=r"^supplied\.ids: .*strings.*integers"):
        SuppliedSource().fetch(make_context(table, supplied=Supplied(ids=Ids.of(["a"]))), 5)
