"""The guarded runner: what every stage of a query has in common, in one place."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

import numpy as np

from candidates.context import Context
from candidates.gather import OVERLOAD
from candidates.lookup import is_among
from navi.core.candidates import Candidates
from navi.core.clock import Clock
from navi.core.deadline import Deadline
from navi.core.errors import CallerError, Cancelled, DeadlineExceeded, NaviError, Overloaded, StageError
from navi.core.ranking import Degradation, StageReport
from ranking.stage import Stage
from ranking.trail import Trail

T = TypeVar("T")

_NOTHING: Mapping[str, int] = {}


@dataclass(frozen=True, slots=True)
class Outcome(Generic[T]):
    """What a step gives: its result, the rows that left it, and how many were dropped for which reason."""

    result: T
    rows: int
    dropped: Mapping[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class Runner:
    """Runs the stages of one query: owns timing, counts, the length check, deadlines, and what a failure does.

    What the caller got wrong, that the caller has gone, and that the query's time is over end the query. Any other
    failure of a stage leaves the candidates as they were and is reported; one of a required step ends the query.

    started: when the query began, on the monotonic clock. trail: None unless the query asks to be explained.
    """

    clock: Clock
    deadline: Deadline
    started: float
    trail: Trail | None = None
    stages: list[StageReport] = field(default_factory=list)
    degradations: list[Degradation] = field(default_factory=list)

    @classmethod
    def start(cls, clock: Clock, deadline: Deadline, trail: Trail | None = None) -> "Runner":
        """A runner for a query that begins now."""
        return cls(clock, deadline, clock.monotonic(), trail)

    def required(self, name: str, rows_in: int, work: Callable[[], Outcome[T]]) -> T:
        """The result of a step without which there is no answer; StageError where it crashes."""
        self.deadline.check(name)
        started = self.clock.monotonic()
        try:
            outcome = work()
        except NaviError:
            raise
        except Exception as error:  # the guard: any plug-in may raise anything
            raise StageError(name, _said(error)) from error
        self._report(name, (rows_in, outcome.rows), started, dropped=outcome.dropped)
        return outcome.result

    def stage(
        self, name: str, stage: Stage, context: Context, candidates: Candidates, share: float = 1.0
    ) -> Candidates:
        """The candidates as a stage leaves them; as they came, and reported, where it fails or has no time."""
        self.deadline.check(name)
        started, rows_in = self.clock.monotonic(), len(candidates)
        try:
            after = stage.run(replace(context, stage_deadline=context.deadline.share(share)), candidates)
            _check_rows(name, candidates, after)
        except (CallerError, Cancelled):
            raise
        except Exception as error:  # the guard: a failure here degrades the answer and is counted
            self.degrade(name, reason_of(error), _said(error), rows=rows_in)
            self._report(name, (rows_in, rows_in), started, degraded=True)
            return candidates
        lost = rows_in - len(after)
        self._report(name, (rows_in, len(after)), started, dropped={name: lost} if lost else _NOTHING)
        self.follow(name, name, candidates, after)
        return after

    def follow(self, stage: str, reason: str, before: Candidates, after: Candidates) -> None:
        """For `explain`: what is in `before` and not in `after` was dropped at `stage` for `reason`."""
        if self.trail is not None:
            self.trail.step(stage, reason, before, after)

    def offset(self, moment: float) -> int:
        """Microseconds from the start of the query to a moment of the monotonic clock."""
        return int((moment - self.started) * 1e6)

    def degrade(self, stage: str, reason: str, detail: str, *, rows: int = 0) -> None:
        """Say in the reply that a part of the full answer is missing."""
        self.degradations.append(Degradation(stage=stage, reason=reason, detail=detail, rows=rows))

    def _report(
        self,
        name: str,
        rows: tuple[int, int],
        started: float,
        *,
        dropped: Mapping[str, int] = _NOTHING,
        degraded: bool = False,
    ) -> None:
        self.stages.append(
            StageReport(
                name=name,
                rows_in=rows[0],
                rows_out=rows[1],
                microseconds=int((self.clock.monotonic() - started) * 1e6),
                offset=self.offset(started),
                degraded=degraded,
                dropped=dropped,
            )
        )


def reason_of(error: Exception) -> str:
    """The fixed word by which a failure is counted."""
    if isinstance(error, DeadlineExceeded):
        return "deadline"
    if isinstance(error, Overloaded):
        return OVERLOAD
    return "failed" if isinstance(error, NaviError) else "crashed"


def _said(error: Exception) -> str:
    return str(error) or type(error).__name__


def _check_rows(name: str, before: Candidates, after: Candidates) -> None:
    """StageError unless a stage left some of its candidates, each once: what a filter took must not come back."""
    if after.rows is before.rows:
        return
    if len(after) > len(before):
        raise StageError(name, f"made {len(after)} candidates out of {len(before)}")
    ordered = np.sort(after.rows)
    if (ordered[1:] == ordered[:-1]).any() or not is_among(ordered, before.rows).all():
        raise StageError(name, "left candidates that it was not given, or one of them twice")
