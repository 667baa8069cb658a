"""The features behind an answer are those that it was computed from."""

from collections.abc import Callable

import numpy as np
from funnel_fakes import ColumnStage, FunnelMaker, ListSource

from navi.core.column import Column
from navi.core.ids import Ids
from navi.core.query import Query, Supplied
from navi.core.ranking import Ranking, Served
from ranking.steps import Step

MakeQuery = Callable[..., Query]


def served(ranking: Ranking) -> Served:
    assert ranking.served is not None
    return ranking.served()


def test_the_users_row_and_the_answered_items_columns_are_told(make_funnel: FunnelMaker, make_query: MakeQuery) -> None:
    told = served(make_funnel(ListSource([9, 4, 5])).rank(make_query(k=2)))
    assert told.user["age"].tolist() == [30.0]
    assert sorted(told.items) == ["creator", "group", "id", "price", "tags"]
    assert told.items["price"].values.tolist() == [4.0, 5.0]
    assert told.items["group"].values.tolist() == ["g1", "g2"]
    assert [told.items["tags"].row(at).tolist() for at in (0, 1)] == [[], [5, 6]]
    assert told.propensities.tolist() == [1.0, 1.0]


def test_a_missing_value_stays_missing(make_funnel: FunnelMaker, make_query: MakeQuery) -> None:
    creator = served(make_funnel(ListSource([9, 4])).rank(make_query(k=2))).items["creator"]
    assert creator.row(0).tolist() == [0]
    assert creator.row(1) is None


def test_an_unknown_user_has_no_row(make_funnel: FunnelMaker, make_query: MakeQuery) -> None:
    assert served(make_funnel().rank(make_query(user=999))).user == {}


def test_what_the_caller_supplied_takes_the_residents_place(make_funnel: FunnelMaker, make_query: MakeQuery) -> None:
    given = {"price": Column(np.array([7.5], np.float32)), "bid": Column(np.array([2], np.int64))}
    query = make_query(supplied=Supplied(ids=Ids.of([140]), columns=given))
    told = served(make_funnel(ListSource([4, 5])).rank(query))
    assert told.items["price"].values.tolist() == [7.5, 5.0]
    assert told.items["bid"].row(0).tolist() == [2]
    assert told.items["bid"].row(1) is None


def test_a_stage_that_draws_at_random_tells_its_propensities(make_funnel: FunnelMaker, make_query: MakeQuery) -> None:
    draws = Step("explore", ColumnStage("propensity", lambda rows: rows / 10))
    told = served(make_funnel(ListSource([4, 5]), policy=(draws,)).rank(make_query()))
    assert told.propensities.tolist() == np.array([0.4, 0.5], np.float32).tolist()


def test_no_answer_has_no_rows(make_funnel: FunnelMaker, make_query: MakeQuery) -> None:
    told = served(make_funnel(ListSource([])).rank(make_query()))
    assert {len(column) for column in told.items.values()} == {0}
    assert told.propensities.tolist() == []
