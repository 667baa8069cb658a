"""Gathering: sources that are late, fail or break their contract are left out, and that is said."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
import pytest

from candidates.context import Context
from candidates.gather import Gather, SourceEntry
from candidates.source import Fetched
from candidates.supplied import SuppliedSource
from navi.core.clock import ManualClock, SystemClock
from navi.core.deadline import Deadline
from navi.core.errors import Cancelled, InvalidArgument, StoreError
from navi.features.item_table import ItemTable

WAIT_S = 30.0


def fetched(*rows: int) -> Fetched:
    return Fetched(np.array(rows, dtype=np.int64), np.zeros(len(rows), dtype=np.float32))


@dataclass(frozen=True)
class FixedSource:
    """Gives what it was made with, or raises it."""

    outcome: object
    uses_user: bool = False

    def fetch(self, context: Context, quota: int) -> Fetched:
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome  # type: ignore[return-value]


@dataclass(frozen=True)
class SlowSource:
    """Says that it began, and waits until it may go on."""

    uses_user: bool = False
    began: threading.Event = field(default_factory=threading.Event)
    released: threading.Event = field(default_factory=threading.Event)

    def fetch(self, context: Context, quota: int) -> Fetched:
        self.began.set()
        assert self.released.wait(WAIT_S)
        return fetched(1)


@dataclass(frozen=True)
class UserSource:
    """Gives row 1 for a known user, nothing otherwise."""

    uses_user: bool = True

    def fetch(self, context: Context, quota: int) -> Fetched:
        return fetched(1) if context.user_found else fetched()


@pytest.fixture(scope="module")
def table(make_table: Callable[..., ItemTable]) -> ItemTable:
    return make_table({"id": list(range(10))})


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as threads:
        yield threads


@pytest.fixture
def context(table: ItemTable, make_context: Callable[..., Context]) -> Context:
    return make_context(table)


def gather(pool: ThreadPoolExecutor, *entries: SourceEntry) -> Gather:
    return Gather(entries, pool, SystemClock())


def test_results_come_in_the_pipelines_order(pool: ThreadPoolExecutor, context: Context) -> None:
    sources = gather(
        pool,
        SourceEntry("threaded", FixedSource(fetched(3)), 5, timeout_s=WAIT_S),
        SourceEntry("inline", FixedSource(fetched(1, 2)), 5),
        SourceEntry("with_user", UserSource(), 5, timeout_s=WAIT_S),
    )
    results = sources.start(context).finish(context)
    assert [result.name for result in results] == ["threaded", "inline", "with_user"]
    assert [result.fetched.rows.tolist() for result in results if result.fetched] == [[3], [1, 2], []]
    assert all(result.microseconds >= 0 for result in results)


def test_a_late_source_is_left_out_and_the_others_are_not(pool: ThreadPoolExecutor, context: Context) -> None:
    slow = SlowSource()
    sources = gather(
        pool,
        SourceEntry("slow", slow, 5, timeout_s=0.02),
        SourceEntry("quick", FixedSource(fetched(2)), 5, timeout_s=WAIT_S),
    )
    late, quick = sources.start(context).finish(context)
    slow.released.set()
    assert (late.fetched, late.reason) == (None, "late")
    assert quick.fetched is not None


def test_a_source_without_the_user_starts_before_the_user_is_there(pool: ThreadPoolExecutor, context: Context) -> None:
    early, waiting = SlowSource(), SlowSource(uses_user=True)
    sources = gather(
        pool,
        SourceEntry("early", early, 5, timeout_s=WAIT_S),
        SourceEntry("waiting", waiting, 5, timeout_s=WAIT_S),
    )
    fetching = sources.start(context)
    assert early.began.wait(WAIT_S)
    assert not waiting.began.is_set()
    early.released.set()
    waiting.released.set()
    assert all(result.fetched is not None for result in fetching.finish(context))


def test_a_source_with_the_user_sees_the_user(
    pool: ThreadPoolExecutor, table: ItemTable, make_context: Callable[..., Context]
) -> None:
    sources = gather(
        pool, SourceEntry("inline", UserSource(), 5), SourceEntry("threaded", UserSource(), 5, timeout_s=WAIT_S)
    )
    results = sources.start(make_context(table)).finish(make_context(table, user={}))
    assert [result.fetched.rows.tolist() for result in results if result.fetched] == [[1], [1]]


@pytest.mark.parametrize("timeout_s", [None, WAIT_S])
@pytest.mark.parametrize(
    ("error", "reason"), [(StoreError("gone"), "failed"), (ZeroDivisionError("by zero"), "crashed")]
)
def test_a_source_that_raises_is_left_out_with_its_message(
    pool: ThreadPoolExecutor, context: Context, error: Exception, reason: str, timeout_s: float | None
) -> None:
    sources = gather(pool, SourceEntry("bad", FixedSource(error), 5, timeout_s), SourceEntry("good", UserSource(), 5))
    bad, good = sources.start(context).finish(context)
    assert (bad.fetched, bad.reason, bad.detail) == (None, reason, str(error))
    assert good.fetched is not None
    sources.start(context).finish(context)


@pytest.mark.parametrize(
    ("outcome", "says"),
    [
        (fetched(1, 2, 3), "quota is 2"),
        (fetched(4, 4), "twice"),
        (fetched(-1), "row -1"),
        (fetched(10), "row 10 of a table of 10"),
        (Fetched(np.array([1], dtype=np.int32), np.zeros(1, dtype=np.float32)), "int32"),
        (Fetched(np.array([1], dtype=np.int64), np.zeros(2, dtype=np.float32)), "(2,)"),
        (Fetched(np.array([1], dtype=np.int64), np.zeros(1)), "float64"),  # type: ignore[arg-type]
        ([1, 2], "list"),
    ],
)
def test_a_source_that_breaks_its_contract_is_left_out(
    pool: ThreadPoolExecutor, context: Context, outcome: object, says: str
) -> None:
    (result,) = gather(pool, SourceEntry("broken", FixedSource(outcome), 2)).start(context).finish(context)
    assert (result.fetched, result.reason) == (None, "broken")
    assert says in result.detail


@pytest.mark.parametrize("timeout_s", [None, WAIT_S])
@pytest.mark.parametrize("error", [InvalidArgument("supplied.ids", "are wrong"), Cancelled("gone")])
def test_what_is_the_callers_ends_the_query(
    pool: ThreadPoolExecutor, context: Context, error: Exception, timeout_s: float | None
) -> None:
    sources = gather(pool, SourceEntry("supplied", FixedSource(error), 5, timeout_s))
    with pytest.raises(type(error), match=str(error)):
        sources.start(context).finish(context)


def test_a_source_is_not_begun_past_the_deadline(
    pool: ThreadPoolExecutor, table: ItemTable, make_context: Callable[..., Context]
) -> None:
    clock = ManualClock()
    context = make_context(table, deadline=Deadline.after(1.0, clock))
    clock.advance(2.0)
    slow = SlowSource()
    (result,) = gather(pool, SourceEntry("slow", slow, 5)).start(context).finish(context)
    assert (result.fetched, result.reason) == (None, "late")
    assert not slow.began.is_set()


def test_a_source_sees_its_own_deadline(pool: ThreadPoolExecutor, context: Context) -> None:
    seen: list[Deadline] = []

    @dataclass(frozen=True)
    class DeadlineSource:
        uses_user: bool = False

        def fetch(self, context: Context, quota: int) -> Fetched:
            seen.append(context.deadline)
            return fetched()

    gather(pool, SourceEntry("a", DeadlineSource(), 5, timeout_s=WAIT_S)).start(context).finish(context)
    assert 0 < seen[0].remaining() <= WAIT_S


def test_only_what_the_caller_supplied_is_guaranteed() -> None:
    assert SourceEntry("supplied", SuppliedSource(), 5).guaranteed
    assert not SourceEntry("other", UserSource(), 5).guaranteed
