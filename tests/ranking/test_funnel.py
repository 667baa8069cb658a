"""What a funnel promises about its answers, whatever its parts do."""

import time
from collections.abc import Callable

import numpy as np
import pytest
from funnel_fakes import ColumnStage, DropRows, FailingSource, FailingStage, FunnelMaker, ListSource

from candidates.blend import Blend
from candidates.context import Context
from candidates.gather import SourceEntry
from navi.core.candidates import Candidates
from navi.core.column import Column
from navi.core.deadline import Deadline
from navi.core.errors import (
    BackendError,
    Cancelled,
    DeadlineExceeded,
    InvalidArgument,
    StageError,
    StoreError,
    Unavailable,
)
from navi.core.ids import Ids
from navi.core.query import Query, Supplied
from navi.core.ranking import Ranking, RowStatus
from ranking.steps import Step

MakeQuery = Callable[..., Query]


def stage_of(ranking: Ranking, name: str):
    return next(stage for stage in ranking.stages if stage.name == name)


def test_the_best_k_come_back_best_first(make_funnel: FunnelMaker, make_query: MakeQuery) -> None:
    ranking = make_funnel().rank(make_query(k=3))
    # coarse keeps rows 20..39, the ranker prefers small rows
    assert ranking.ids.tolist() == [300, 310, 320]
    assert ranking.scores.tolist() == sorted(ranking.scores.tolist(), reverse=True)
    assert ranking.degradations == ()
    assert ranking.shortfall == {}


def test_every_stage_reports_what_went_in_and_out(make_funnel: FunnelMaker, make_query: MakeQuery) -> None:
    ranking = make_funnel(filters=(DropRows(frozenset({0, 1})),)).rank(make_query())
    assert [stage.name for stage in ranking.stages] == [
        "user", "source.s0", "blend", "filters", "coarse", "cut", "rerank", "combine", "select",
    ]  # fmt: skip
    assert stage_of(ranking, "filters").dropped == {"hidden": 2}
    assert (stage_of(ranking, "cut").rows_in, stage_of(ranking, "cut").rows_out) == (38, 20)
    assert stage_of(ranking, "cut").dropped == {"below_cut": 18}


def test_provenance_names_every_source_that_brought_an_item(make_funnel: FunnelMaker, make_query: MakeQuery) -> None:
    ranking = make_funnel(ListSource([1, 2]), ListSource([2, 3])).rank(make_query())
    brought = dict(zip(ranking.ids.tolist(), ranking.sources_of(), strict=True))
    assert brought == {110: ["s0"], 120: ["s0", "s1"], 130: ["s1"]}


def test_ties_break_by_id(make_funnel: FunnelMaker, make_query: MakeQuery) -> None:
    flat = Step("combine", ColumnStage("score", np.zeros_like))
    assert make_funnel(ListSource([7, 3, 5]), combine=flat).rank(make_query()).ids.tolist() == [130, 150, 170]


def test_scores_that_are_not_finite_stand_last_and_are_counted(make_funnel: FunnelMaker, make_query: MakeQuery) -> None:
    holes = Step(
        "combine", ColumnStage("score", lambda rows: np.where(rows == 3, np.nan, np.where(rows == 4, np.inf, rows)))
    )
    ranking = make_funnel(ListSource([3, 4, 5]), combine=holes).rank(make_query())
    assert ranking.ids.tolist() == [150, 130, 140]
    (entry,) = ranking.degradations
    assert (entry.reason, entry.rows) == ("non_finite", 2)


def test_a_filtered_item_shows_on_no_path(make_funnel: FunnelMaker, make_query: MakeQuery) -> None:
    broken = Step("rerank", FailingStage(BackendError("gone")))
    hidden = (DropRows(frozenset({38, 39})),)
    for changes in ({}, {"rerank": broken}, {"rerank": broken, "coarse": None}):
        assert not {480, 490} & set(make_funnel(filters=hidden, **changes).rank(make_query(k=40)).ids.tolist())


@pytest.mark.parametrize(
    ("error", "reason"),
    [(BackendError("x"), "failed"), (DeadlineExceeded("x"), "deadline"), (ZeroDivisionError(), "crashed")],
)
def test_a_ranker_that_fails_leaves_the_coarse_order_and_says_so(
    make_funnel: FunnelMaker, make_query: MakeQuery, error: Exception, reason: str
) -> None:
    ranking = make_funnel(rerank=Step("rerank", FailingStage(error))).rank(make_query(k=3))
    assert ranking.ids.tolist() == [490, 480, 470]
    assert [(entry.stage, entry.reason) for entry in ranking.degradations] == [("rerank", reason)]
    assert stage_of(ranking, "rerank").degraded
    assert ranking.tasks == {}


def test_a_coarse_stage_that_fails_leaves_the_sources_order(make_funnel: FunnelMaker, make_query: MakeQuery) -> None:
    ranking = make_funnel(
        ListSource([5, 9, 2]), coarse=Step("coarse", FailingStage(ValueError("x"))), rerank=None
    ).rank(make_query())
    assert ranking.ids.tolist() == [150, 190, 120]


def test_a_source_that_fails_is_left_out_and_reported(make_funnel: FunnelMaker, make_query: MakeQuery) -> None:
    ranking = make_funnel(ListSource([1, 2]), FailingSource(RuntimeError("boom"))).rank(make_query())
    assert ranking.ids.tolist() == [110, 120]
    assert [(entry.stage, entry.reason) for entry in ranking.degradations] == [("source.s1", "crashed")]


def test_a_late_source_is_left_out(make_funnel: FunnelMaker, make_query: MakeQuery) -> None:
    class Slow(ListSource):
        def fetch(self, context: Context, quota: int):
            time.sleep(0.3)
            return super().fetch(context, quota)

    slow = SourceEntry("slow", Slow([8]), 10, timeout_s=0.02)
    ranking = make_funnel(ListSource([1]), slow).rank(make_query())
    assert ranking.ids.tolist() == [110]
    assert [(entry.stage, entry.reason) for entry in ranking.degradations] == [("source.slow", "late")]


def test_a_filter_that_fails_ends_the_query(make_funnel: FunnelMaker, make_query: MakeQuery) -> None:
    class Broken(DropRows):
        def keep(self, context: Context, candidates: Candidates):
            raise RuntimeError("no idea")

    with pytest.raises(StageError, match="no idea"):
        make_funnel(filters=(Broken(frozenset()),)).rank(make_query())


def test_fewer_than_k_says_why(make_funnel: FunnelMaker, make_query: MakeQuery) -> None:
    ranking = make_funnel(ListSource([1, 2, 3]), filters=(DropRows(frozenset({2})),)).rank(make_query(k=5))
    assert len(ranking.ids) == 2
    assert ranking.shortfall == {"too_few_candidates": 3, "hidden": 1}


def test_no_candidates_is_an_empty_answer(make_funnel: FunnelMaker, make_query: MakeQuery) -> None:
    ranking = make_funnel(ListSource([])).rank(make_query())
    assert ranking.ids.tolist() == []
    assert ranking.shortfall == {"too_few_candidates": 5}


def test_an_unknown_user_is_served(make_funnel: FunnelMaker, make_query: MakeQuery) -> None:
    ranking = make_funnel().rank(make_query(user=999))
    assert len(ranking.ids) == 5
    assert stage_of(ranking, "user").rows_out == 0
    assert make_funnel().rank(make_query(user=None)).ids == ranking.ids


def test_a_user_store_that_fails_is_cold_start_unless_a_filter_needs_it(
    make_funnel: FunnelMaker, make_query: MakeQuery
) -> None:
    class Down:
        def get_many(self, keys: object) -> None:
            raise StoreError("disk gone")

    ranking = make_funnel(users=Down()).rank(make_query())
    assert [(entry.stage, entry.reason) for entry in ranking.degradations] == [("user", "failed")]
    with pytest.raises(Unavailable, match="disk gone"):
        make_funnel(users=Down(), filters=(DropRows(frozenset(), uses_user=True),)).rank(make_query())


def test_a_cancelled_query_stops_before_the_ranker(make_funnel: FunnelMaker, make_query: MakeQuery) -> None:
    query = make_query()

    class CancelsItsCaller(ListSource):
        def fetch(self, context: Context, quota: int):
            query.deadline.cancel()
            return super().fetch(context, quota)

    ranker = ColumnStage("task.click", lambda rows: rows)
    with pytest.raises(Cancelled):
        make_funnel(CancelsItsCaller([1, 2]), rerank=Step("rerank", ranker)).rank(query)
    assert ranker.calls == []


def test_an_expired_query_is_dropped(make_funnel: FunnelMaker, make_query: MakeQuery) -> None:
    with pytest.raises(DeadlineExceeded):
        make_funnel().rank(make_query(deadline=Deadline.after(0.0)))


def test_an_unread_request_feature_is_refused_by_name(make_funnel: FunnelMaker, make_query: MakeQuery) -> None:
    with pytest.raises(InvalidArgument, match=r"features\.mood"):
        make_funnel().rank(make_query(features={"mood": Column(np.array([1.0], dtype=np.float32))}))


def test_a_stage_that_adds_candidates_breaks_its_contract(make_funnel: FunnelMaker, make_query: MakeQuery) -> None:
    class Doubles:
        def run(self, context: Context, candidates: Candidates) -> Candidates:
            return candidates.take(np.repeat(np.arange(len(candidates)), 2))

    ranking = make_funnel(policy=(Step("doubles", Doubles()),)).rank(make_query())
    assert [(entry.stage, entry.reason) for entry in ranking.degradations] == [("doubles", "failed")]
    assert len(set(ranking.ids.tolist())) == 5


def test_queries_of_a_list_fail_alone(make_funnel: FunnelMaker, make_query: MakeQuery) -> None:
    good, bad = make_query(), make_query(deadline=Deadline.after(0.0))
    first, second, third = make_funnel().rank_many([good, bad, good])
    assert isinstance(second, DeadlineExceeded)
    assert isinstance(first, Ranking)
    assert isinstance(third, Ranking)
    assert first.ids == third.ids


def test_the_limit_of_blending_is_reported(make_funnel: FunnelMaker, make_query: MakeQuery) -> None:
    blend = Blend(method="reciprocal_rank_fusion", weights=(1.0,), limit=10)
    assert stage_of(make_funnel(blend=blend).rank(make_query()), "blend").dropped == {"limit": 30}


def test_score_answers_position_for_position(make_funnel: FunnelMaker, make_query: MakeQuery) -> None:
    asked = Supplied(ids=Ids.of([150, 7, 110, 150]))
    scores = make_funnel(filters=(DropRows(frozenset({5})),)).score(make_query(supplied=asked))
    assert scores.status.tolist() == [RowStatus.OK, RowStatus.UNKNOWN_ITEM, RowStatus.OK, RowStatus.OK]
    assert scores.scores[[0, 2, 3]].tolist() == pytest.approx([1 / 6, 1 / 2, 1 / 6])
    assert np.isnan(scores.scores[1])
    assert np.isnan(scores.tasks["click"][1])


def test_score_of_unknown_items_only(make_funnel: FunnelMaker, make_query: MakeQuery) -> None:
    scores = make_funnel().score(make_query(supplied=Supplied(ids=Ids.of([1, 2]))))
    assert scores.status.tolist() == [RowStatus.UNKNOWN_ITEM] * 2


def test_score_without_candidates_is_refused(make_funnel: FunnelMaker, make_query: MakeQuery) -> None:
    with pytest.raises(InvalidArgument, match="candidates"):
        make_funnel().score(make_query())


def test_a_model_that_fails_is_an_error_of_score(make_funnel: FunnelMaker, make_query: MakeQuery) -> None:
    funnel = make_funnel(rerank=Step("rerank", FailingStage(BackendError("gone"))))
    with pytest.raises(BackendError):
        funnel.score(make_query(supplied=Supplied(ids=Ids.of([150]))))


def test_ids_of_the_wrong_kind_are_refused_by_name(make_funnel: FunnelMaker, make_query: MakeQuery) -> None:
    with pytest.raises(InvalidArgument, match=r"candidates\.ids"):
        make_funnel().score(make_query(supplied=Supplied(ids=Ids.of(["a"]))))
