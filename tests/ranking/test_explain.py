"""What an explanation promises: every candidate once, dropped where the reports say, and the same answer as without."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from funnel_fakes import ITEMS, ColumnStage, DropRows, FailingStage, FunnelMaker, ListSource
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from candidates.blend import Blend
from candidates.context import Context
from navi.core.candidates import Candidates
from navi.core.errors import BackendError, InvalidArgument
from navi.core.explanation import Explanation
from navi.core.query import Query
from navi.core.ranking import Ranking
from ranking.steps import Step

MakeQuery = Callable[..., Query]
ROWS = st.lists(st.integers(0, ITEMS - 1), unique=True, max_size=ITEMS)


@dataclass(frozen=True)
class KeepRows:
    """A policy stage that leaves some rows, the last first."""

    rows: frozenset[int]

    def run(self, context: Context, candidates: Candidates) -> Candidates:
        kept = [at for at, row in enumerate(candidates.rows.tolist()) if row in self.rows]
        return candidates.take(np.array(kept[::-1], dtype=np.int64))


@dataclass(frozen=True)
class Halve:
    """Halves the scores, as a policy that weighs down would."""

    def run(self, context: Context, candidates: Candidates) -> Candidates:
        return candidates.with_column("score", candidates.columns["score"] * np.float32(0.5))


def explained(ranking: Ranking) -> Explanation:
    assert ranking.explanation is not None
    return ranking.explanation


def drop_of(ranking: Ranking) -> dict[int, tuple[str, str] | None]:
    """Row of the table -> (stage, reason), None for an answered item."""
    told = explained(ranking)
    drops = [None if at < 0 else told.drops[at] for at in told.drop.tolist()]
    return {(key - 100) // 10: drop for key, drop in zip(told.ids.tolist(), drops, strict=True)}


def reported(ranking: Ranking) -> Counter[tuple[str, str]]:
    stages = [stage for stage in ranking.stages if not stage.name.startswith("source.")]
    return Counter({(stage.name, reason): count for stage in stages for reason, count in stage.dropped.items()})


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_every_candidate_is_told_once_with_the_drop_that_the_reports_count(
    make_funnel: FunnelMaker, make_query: MakeQuery, data: st.DataObject
) -> None:
    lists = data.draw(st.lists(ROWS, min_size=1, max_size=3))
    hidden = [frozenset(data.draw(ROWS)) for _ in range(3)]
    failing = FailingStage(BackendError("gone"))
    funnel = make_funnel(
        *(ListSource(rows) for rows in lists),
        blend=Blend(
            method="reciprocal_rank_fusion", weights=(1.0,) * len(lists), limit=data.draw(st.integers(1, ITEMS))
        ),
        filters=(DropRows(hidden[0], "hidden"), DropRows(hidden[1], "seen"), DropRows(hidden[2], "hidden")),
        coarse=Step("coarse", ColumnStage("coarse", np.sin)) if data.draw(st.booleans()) else None,
        keep=data.draw(st.integers(1, ITEMS)),
        rerank=Step("rerank", failing if data.draw(st.booleans()) else ColumnStage("task.click", np.cos)),
        policy=(Step("halve", Halve()), Step("safety", KeepRows(frozenset(data.draw(ROWS))))),
    )
    k = data.draw(st.integers(1, ITEMS))
    plain, ranking = funnel.rank(make_query(k=k)), funnel.rank(make_query(k=k, explain=True))
    told, answered = explained(ranking), len(ranking.ids)

    assert (ranking.ids, ranking.scores.tolist()) == (plain.ids, plain.scores.tolist())
    assert plain.explanation is None
    assert told.ids.tolist()[:answered] == ranking.ids.tolist()
    assert told.drop.tolist() == [-1] * answered + [at for at in told.drop.tolist() if at >= 0]
    assert sorted(drop_of(ranking)) == sorted(set().union(*lists))
    assert told.candidates == len(told.ids) == len(set().union(*lists))
    assert Counter(drop for drop in drop_of(ranking).values() if drop) == reported(ranking)
    brought = {100 + 10 * row: sum(1 << i for i, rows in enumerate(lists) if row in rows) for row in range(ITEMS)}
    assert told.sources.tolist() == [brought[key] for key in told.ids.tolist()]


def test_each_kind_of_drop_has_its_stage_and_reason(make_funnel: FunnelMaker, make_query: MakeQuery) -> None:
    funnel = make_funnel(
        ListSource(list(range(10))),
        blend=Blend(method="reciprocal_rank_fusion", weights=(1.0,), limit=9),
        filters=(DropRows(frozenset({1}), "seen"), DropRows(frozenset({1, 2}), "age")),
        keep=5,
        policy=(Step("safety", KeepRows(frozenset({3, 4, 5, 6, 8}))),),
    )
    drops = drop_of(funnel.rank(make_query(k=2, explain=True)))
    # after blending 0..8, after the filters 0 and 3..8, the best 5 of them by coarse are 4..8, and small rows win
    assert {row: drops[row] for row in (9, 1, 2, 0, 3, 7, 8)} == {
        9: ("blend", "limit"), 1: ("filters", "seen"), 2: ("filters", "age"), 0: ("cut", "below_cut"),
        3: ("cut", "below_cut"), 7: ("safety", "safety"), 8: ("select", "beyond_k"),
    }  # fmt: skip
    assert [row for row, drop in drops.items() if drop is None] == [4, 5]


def test_who_got_further_stands_first_and_the_better_score_before_the_worse(
    make_funnel: FunnelMaker, make_query: MakeQuery
) -> None:
    funnel = make_funnel(ListSource(list(range(8))), filters=(DropRows(frozenset({1})),), keep=5)
    rows = list(drop_of(funnel.rank(make_query(k=2, explain=True))))
    assert rows == [3, 4, 5, 6, 7, 2, 0, 1]


def test_a_bounded_explanation_has_its_first_rows_and_tells_how_many_there_are(
    make_funnel: FunnelMaker, make_query: MakeQuery
) -> None:
    whole = explained(make_funnel().rank(make_query(explain=True)))
    bounded = explained(make_funnel(explain_limit=7).rank(make_query(explain=True)))
    assert bounded.ids.tolist() == whole.ids.tolist()[:7]
    assert {len(values) for values in bounded.scores.values()} == {len(bounded.drop), len(bounded.sources)} == {7}
    assert bounded.candidates == whole.candidates == ITEMS


def test_scores_are_there_as_far_as_a_candidate_got(make_funnel: FunnelMaker, make_query: MakeQuery) -> None:
    ranking = make_funnel(ListSource([1, 2, 3]), keep=2, policy=(Step("halve", Halve()),)).rank(
        make_query(k=1, explain=True)
    )
    told = explained(ranking)
    assert told.ids.tolist() == [120, 130, 110]
    assert list(told.scores) == ["blend", "coarse", "task.click", "score", "score before halve"]
    assert told.scores["coarse"].tolist() == [2.0, 3.0, 1.0]
    assert told.scores["score"][0] == ranking.scores[0]
    assert told.scores["score before halve"].tolist()[:2] == (told.scores["score"] * 2).tolist()[:2]
    for name in ("task.click", "score", "score before halve"):
        assert np.isnan(told.scores[name]).tolist() == [False, False, True]


def test_a_ranker_that_failed_has_left_no_scores(make_funnel: FunnelMaker, make_query: MakeQuery) -> None:
    ranking = make_funnel(rerank=Step("rerank", FailingStage(BackendError("gone")))).rank(make_query(explain=True))
    assert list(explained(ranking).scores) == ["blend", "coarse", "score"]
    holes = Step("rerank", ColumnStage("task.click", lambda rows: np.full(len(rows), np.nan)))
    ranking = make_funnel(rerank=holes).rank(make_query(explain=True))
    assert np.isnan(explained(ranking).scores["task.click"]).all()


def test_an_operator_can_turn_explanations_off(make_funnel: FunnelMaker, make_query: MakeQuery) -> None:
    funnel = make_funnel(explain_limit=None)
    with pytest.raises(InvalidArgument, match="turned off") as error:
        funnel.rank(make_query(explain=True))
    assert error.value.field == "explain"
    assert funnel.rank(make_query()).explanation is None


def test_a_stage_cannot_bring_back_what_a_filter_took(make_funnel: FunnelMaker, make_query: MakeQuery) -> None:
    class Revives:
        def run(self, context: Context, candidates: Candidates) -> Candidates:
            return Candidates(np.roll(np.arange(ITEMS), 1)[: len(candidates)], candidates.sources, candidates.columns)

    ranking = make_funnel(filters=(DropRows(frozenset({0})),), policy=(Step("revives", Revives()),)).rank(
        make_query(explain=True)
    )
    assert [(entry.stage, entry.reason) for entry in ranking.degradations] == [("revives", "failed")]
    assert 100 not in ranking.ids.tolist()
