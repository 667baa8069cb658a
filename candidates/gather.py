"""Runs a query's sources, side by side where they have a time-out, and leaves out those that are late or fail."""

import logging
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass, field, replace

import numpy as np

from candidates.context import Context
from candidates.source import Fetched, Source
from candidates.supplied import SuppliedSource
from navi.core.clock import Clock
from navi.core.deadline import Deadline
from navi.core.errors import CallerError, Cancelled, DeadlineExceeded, NaviError, Overloaded

_LOG = logging.getLogger(__name__)

OVERLOAD = "overload"
"""Why a part of the full work is left out where a query may not cost all of it; the word by which that is counted."""


@dataclass(frozen=True, slots=True)
class SourceEntry:
    """A source in a pipeline. timeout_s: seconds from its start after which it is left out; None: it runs inline."""

    name: str
    source: Source
    quota: int
    timeout_s: float | None = None

    @property
    def guaranteed(self) -> bool:
        """Whether merging must not cut its candidates: those that the caller supplied."""
        return isinstance(self.source, SuppliedSource)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceResult:
    """What became of a source. fetched: None where it was left out, and then why.

    reason: `late`, `failed` (an error of ours), `crashed` (any other), `broken` (what it gave breaks the contract), or
    `overload` (it was not asked: the query falls back on what needs no user). started: when it began, on the monotonic
    clock; for one that was late, when it was handed to a thread.
    """

    name: str
    microseconds: int
    started: float
    fetched: Fetched | None = None
    reason: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Gather:
    """The sources of a pipeline, and the threads for those with a time-out.

    A late source goes on in its thread until it looks at its deadline, and its result is thrown away; one that never
    returns keeps its thread. Its work is dropped where it had not begun.
    """

    entries: Sequence[SourceEntry]
    pool: ThreadPoolExecutor
    clock: Clock

    def start(self, context: Context) -> "Fetching":
        """Begin with the sources that need no user, where they run in a thread; the others wait for `finish`."""
        fetching = Fetching(self)
        fetching.submit(context, uses_user=False)
        return fetching

    def close(self) -> None:
        """Wait for the sources that still run: what they read is closed next."""
        self.pool.shutdown(wait=True, cancel_futures=True)


@dataclass(frozen=True, slots=True)
class _Pending:
    future: Future[SourceResult]
    deadline: Deadline
    started: float


@dataclass(frozen=True, slots=True)
class Fetching:
    """The sources of one query while they run."""

    gather: Gather
    pending: dict[str, _Pending] = field(default_factory=dict)

    def submit(self, context: Context, *, uses_user: bool) -> None:
        for entry in self.gather.entries:
            if entry.timeout_s is not None and entry.source.uses_user is uses_user and not _spared(entry, context):
                deadline = context.deadline.within(entry.timeout_s)
                within = replace(context, stage_deadline=deadline)
                future = self.gather.pool.submit(_fetch, entry, within, self.gather.clock)
                self.pending[entry.name] = _Pending(future, deadline, self.gather.clock.monotonic())

    def finish(self, context: Context) -> list[SourceResult]:
        """One result a source, in the pipeline's order. `context` has the user.

        Raises what is the caller's: a CallerError (bad supplied ids), Cancelled.
        """
        try:
            self.submit(context, uses_user=True)
            inline = {
                entry.name: _fetch(entry, context, self.gather.clock)
                for entry in self.gather.entries
                if entry.timeout_s is None and not _spared(entry, context)
            }
            return [inline.get(entry.name) or self._wait(entry.name) for entry in self.gather.entries]
        finally:
            for pending in self.pending.values():
                pending.future.cancel()

    def _wait(self, name: str) -> SourceResult:
        pending = self.pending.get(name)
        if pending is None:
            now = self.gather.clock.monotonic()
            return SourceResult(name=name, microseconds=0, started=now, reason=OVERLOAD, detail="needs the user")
        try:
            return pending.future.result(timeout=pending.deadline.timeout())
        except FutureTimeout:
            taken = _microseconds(self.gather.clock, pending.started)
            detail = f"not done after {taken} us"
            return SourceResult(name=name, microseconds=taken, started=pending.started, reason="late", detail=detail)


def _spared(entry: SourceEntry, context: Context) -> bool:
    """Whether the source is not asked: under the heaviest load, those that need the user's features or vector."""
    return context.query.effort.level == "fallback" and entry.source.uses_user


def _fetch(entry: SourceEntry, context: Context, clock: Clock) -> SourceResult:
    started = clock.monotonic()
    fetched, reason, detail = None, "", ""
    try:
        context.deadline.check(f"source {entry.name!r}")
        found = entry.source.fetch(context, entry.quota)
        detail = _breach(found, entry.quota, len(context.table))
        fetched, reason = (None, "broken") if detail else (found, "")
    except (CallerError, Cancelled):
        raise
    except DeadlineExceeded as error:
        reason, detail = "late", str(error)
    except Overloaded as error:
        reason, detail = OVERLOAD, str(error)
    except Exception as error:  # the guard: a source may raise anything; it is left out and counted
        _LOG.warning("source %r is left out of a query", entry.name, exc_info=True)
        reason = "failed" if isinstance(error, NaviError) else "crashed"
        detail = str(error) or type(error).__name__
    taken = _microseconds(clock, started)
    return SourceResult(
        name=entry.name, microseconds=taken, started=started, fetched=fetched, reason=reason, detail=detail
    )


def _microseconds(clock: Clock, started: float) -> int:
    return int((clock.monotonic() - started) * 1e6)


def _breach(found: object, quota: int, items: int) -> str:
    """How what a source gave breaks the contract of `Fetched`; empty where it does not."""
    if not isinstance(found, Fetched):
        return f"gave {type(found).__name__}, not Fetched"
    rows, scores = found.rows, found.scores
    if rows.dtype != np.int64 or scores.dtype != np.float32 or rows.ndim != 1 or rows.shape != scores.shape:
        return (
            f"gave rows {rows.dtype} {rows.shape} and scores {scores.dtype} {scores.shape}, not int64 and float32 [n]"
        )
    if len(rows) > quota:
        return f"gave {len(rows)} candidates, where its quota is {quota}"
    ordered = np.sort(rows)
    if len(rows) and (ordered[0] < 0 or ordered[-1] >= items):
        return f"gave row {ordered[0] if ordered[0] < 0 else ordered[-1]} of a table of {items}"
    if (ordered[1:] == ordered[:-1]).any():
        return "gave a row twice"
    return ""
