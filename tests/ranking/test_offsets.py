"""When each stage began, from the start of its query."""

from collections.abc import Callable
from dataclasses import dataclass, field

from funnel_fakes import FunnelMaker, ListSource

from candidates.context import Context
from candidates.gather import SourceEntry
from candidates.source import Fetched
from navi.core.clock import ManualClock
from navi.core.deadline import Deadline
from navi.core.query import Query

MakeQuery = Callable[..., Query]


@dataclass(frozen=True)
class TickingSource(ListSource):
    """Takes two seconds of a clock that is set by hand."""

    clock: ManualClock = field(default_factory=ManualClock)

    def fetch(self, context: Context, quota: int) -> Fetched:
        self.clock.advance(2.0)
        return super().fetch(context, quota)


def test_a_stage_begins_where_those_before_it_have_ended(make_funnel: FunnelMaker, make_query: MakeQuery) -> None:
    clock = ManualClock()
    sources = [TickingSource([1], clock=clock), TickingSource([2], clock=clock)]
    ranking = make_funnel(*sources, clock=clock).rank(make_query(deadline=Deadline.after(60.0, clock)))
    times = {stage.name: (stage.offset, stage.microseconds) for stage in ranking.stages}
    assert times["user"] == (0, 0)
    assert times["source.s0"] == (0, 2_000_000)
    assert times["source.s1"] == (2_000_000, 2_000_000)
    assert {offset for name, (offset, _) in times.items() if name not in ("user", "source.s0", "source.s1")} == {
        4_000_000
    }


def test_a_source_in_a_thread_tells_when_it_began(make_funnel: FunnelMaker, make_query: MakeQuery) -> None:
    clock = ManualClock()
    early = SourceEntry("early", ListSource([3]), 10, timeout_s=30.0)
    inline = SourceEntry("inline", TickingSource([1], uses_user=True, clock=clock), 10)
    ranking = make_funnel(early, inline, clock=clock).rank(make_query(deadline=Deadline.after(60.0, clock)))
    offsets = {stage.name: stage.offset for stage in ranking.stages}
    assert offsets["source.inline"] == 0
    assert offsets["source.early"] in (0, 2_000_000)
    assert offsets["blend"] == 2_000_000
