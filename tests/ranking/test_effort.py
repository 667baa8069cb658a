"""A funnel obeys what a query may cost, says what it left out, and still filters everything."""

from collections.abc import Callable

import numpy as np
import pytest
from funnel_fakes import ColumnStage, DropRows, FunnelMaker, ListSource

from navi.core.candidates import Candidates
from navi.core.column import Column
from navi.core.effort import Effort
from navi.core.ids import Ids
from navi.core.query import Query, Supplied
from navi.core.ranking import Ranking
from ranking.recent_answers import RecentAnswers
from ranking.steps import Step

MakeQuery = Callable[..., Query]

COARSE = Effort("coarse", 0.1)
FALLBACK = Effort("fallback", 0.1)


def told(ranking: Ranking) -> list[tuple[str, str, int]]:
    return [(each.stage, each.reason, each.rows) for each in ranking.degradations]


def stages(ranking: Ranking) -> list[str]:
    return [stage.name for stage in ranking.stages]


def test_fewer_are_re_ranked_the_best_by_the_order_so_far(make_funnel: FunnelMaker, make_query: MakeQuery) -> None:
    scorer = ColumnStage("task.click", lambda rows: 1.0 / (1.0 + rows))
    ranking = make_funnel(rerank=Step("rerank", scorer)).rank(make_query(k=3, effort=Effort("fewer", 0.31)))
    assert scorer.calls == [7]
    # coarse keeps rows 20..39 and prefers large ones, of which 33..39 go on; the ranker prefers small ones
    assert ranking.ids.tolist() == [430, 440, 450]
    assert told(ranking) == [("rerank", "overload", 13)]
    assert next(stage for stage in ranking.stages if stage.name == "trim").dropped == {"overload": 13}


def test_never_fewer_than_are_asked_for(make_funnel: FunnelMaker, make_query: MakeQuery) -> None:
    ranking = make_funnel().rank(make_query(k=12, effort=Effort("fewer", 0.1)))
    assert len(ranking.ids) == 12
    assert told(ranking) == [("rerank", "overload", 8)]


def test_a_share_that_leaves_out_nobody_is_a_full_answer(make_funnel: FunnelMaker, make_query: MakeQuery) -> None:
    assert make_funnel().rank(make_query(k=20, effort=Effort("fewer", 0.5))).degradations == ()
    without = make_funnel(rerank=None).rank(make_query(k=3, effort=Effort("fewer", 0.1)))
    assert without.degradations == ()


def test_the_coarse_order_stands_where_no_model_may_run(make_funnel: FunnelMaker, make_query: MakeQuery) -> None:
    ranking = make_funnel().rank(make_query(k=3, effort=COARSE))
    assert ranking.ids.tolist() == [490, 480, 470]
    assert told(ranking) == [("rerank", "overload", 20)]
    assert not {"rerank", "combine"} & set(stages(ranking))


def test_only_sources_that_need_no_user_run_at_the_bottom(make_funnel: FunnelMaker, make_query: MakeQuery) -> None:
    funnel = make_funnel(ListSource([5, 9, 2]), ListSource([1], uses_user=True))
    ranking = funnel.rank(make_query(effort=FALLBACK))
    assert ranking.ids.tolist() == [150, 190, 120]
    assert told(ranking) == [("source.s1", "overload", 0), ("coarse", "overload", 3), ("rerank", "overload", 3)]
    assert not {"coarse", "rerank", "combine"} & set(stages(ranking))


def test_where_every_source_needs_the_user_the_coarse_order_stands_in(
    make_funnel: FunnelMaker, make_query: MakeQuery
) -> None:
    ranking = make_funnel(ListSource([1, 2], uses_user=True)).rank(make_query(effort=FALLBACK))
    assert ranking.ids.tolist() == [120, 110]
    assert told(ranking) == [("fallback", "overload", 0), ("rerank", "overload", 2)]


def test_policy_and_filters_hold_at_every_level(make_funnel: FunnelMaker, make_query: MakeQuery) -> None:
    policy = ColumnStage("score", lambda rows: rows % 7)
    funnel = make_funnel(
        filters=(DropRows(frozenset(range(30, 40))),), policy=(Step("mod", policy),), recent=RecentAnswers(10, 60.0)
    )
    for effort in (Effort(), Effort("fewer", 0.5), COARSE, FALLBACK):
        shown = [(int(key) - 100) // 10 for key in funnel.rank(make_query(k=40, effort=effort)).ids.tolist()]
        assert shown
        assert max(shown) < 30
        assert [row % 7 for row in shown] == sorted((row % 7 for row in shown), reverse=True)


def test_an_earlier_answer_is_served_again_filtered_anew(make_funnel: FunnelMaker, make_query: MakeQuery) -> None:
    hidden: set[int] = set()
    keep = DropRows(hidden)  # type: ignore[arg-type]  # what is hidden changes
    funnel = make_funnel(ListSource(list(range(40)), uses_user=True), filters=(keep,), recent=RecentAnswers(10, 60.0))
    full = funnel.rank(make_query(k=4))
    assert full.ids.tolist() == [300, 310, 320, 330]
    hidden.add(21)
    again = funnel.rank(make_query(k=4, effort=FALLBACK, as_of=5.0))
    assert again.ids.tolist() == [300, 320, 330, 340]
    assert again.sources_of() == [["s0"]] * 4
    assert told(again)[0] == ("recall", "overload", 20)
    assert "5.0 s ago" in again.degradations[0].detail


def test_what_sources_bring_besides_comes_after_an_earlier_answer(
    make_funnel: FunnelMaker, make_query: MakeQuery
) -> None:
    funnel = make_funnel(ListSource([1, 2], uses_user=True), ListSource([7, 2]), recent=RecentAnswers(10, 60.0))
    assert funnel.rank(make_query(k=2)).ids.tolist() == [110, 120]
    again = funnel.rank(make_query(k=5, effort=FALLBACK, explain=True))
    assert again.ids.tolist() == [110, 120, 170]
    assert again.explanation is not None
    assert again.explanation.candidates == 3


@pytest.mark.parametrize(
    "change", [{"user": 2}, {"as_of": 61.0}, {"as_of": -1.0}, {"features": {"hour": Column(np.array([3]))}}]
)
def test_an_answer_to_another_question_is_not_served(make_query: MakeQuery, table, change) -> None:
    recent = RecentAnswers(10, 60.0)
    recent.remember(make_query(), _candidates([3, 4]), table)
    assert recent.recall(make_query()) is not None
    assert recent.recall(make_query(**change)) is None


def test_answers_are_bounded_and_the_oldest_go_first(make_query: MakeQuery, table) -> None:
    recent = RecentAnswers(2, 60.0)
    for user in (1, 2, 1, 3):
        recent.remember(make_query(user=user), _candidates([3]), table)
    assert len(recent) == 2
    assert recent.recall(make_query(user=2)) is None
    assert recent.recall(make_query(user=1)) is not None


def test_only_full_answers_are_remembered(make_funnel: FunnelMaker, make_query: MakeQuery) -> None:
    recent = RecentAnswers(10, 60.0)
    funnel = make_funnel(recent=recent)
    for effort in (Effort("fewer", 0.5), COARSE, FALLBACK):
        funnel.rank(make_query(k=3, effort=effort))
    assert len(recent) == 0
    funnel.rank(make_query(supplied=Supplied(ids=Ids.of([100]))))
    assert len(recent) == 0
    funnel.rank(make_query())
    assert len(recent) == 1


def test_score_calls_are_never_degraded(make_funnel: FunnelMaker, make_query: MakeQuery) -> None:
    for effort in (Effort("fewer", 0.1), COARSE, FALLBACK):
        scores = make_funnel().score(make_query(supplied=Supplied(ids=Ids.of([110, 120, 130])), effort=effort))
        assert np.isfinite(scores.scores).all()
        assert scores.degradations == ()


def _candidates(rows: list[int]) -> Candidates:
    index = np.array(rows, dtype=np.int64)
    return Candidates(index, np.ones(len(rows), dtype=np.uint32), {"score": -index.astype(np.float32)})
