"""The guarded runner: what every stage of a query has in common, in one place."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from candidates.context import Context
from navi.core.candidates import Candidates
from navi.core.clock import Clock
from navi.core.deadline import Deadline
from navi.core.errors import CallerError, Cancelled, DeadlineExceeded, NaviError, StageError
from navi.core.ranking import Degradation, StageReport
from ranking.stage import Stage

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
    """

    clock: Clock
    deadline: Deadline
    stages: list[StageReport] = field(default_factory=list)
    degradations: list[Degradation] = field(default_factory=list)

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
            _check_length(name, candidates, after)
        except (CallerError, Cancelled):
            raise
        except Exception as error:  # the guard: a failure here degrades the answer and is counted
            self.degrade(name, reason_of(error), _said(error), rows=rows_in)
            self._report(name, (rows_in, rows_in), started, degraded=True)
            return candidates
        lost = rows_in - len(after)
        self._report(name, (rows_in, len(after)), started, dropped={name: lost} if lost else _NOTHING)
        return after

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
                degraded=degraded,
                dropped=dropped,
            )
        )


def reason_of(error: Exception) -> str:
    """The fixed word by which a failure is counted."""
    if isinstance(error, DeadlineExceeded):
        return "deadline"
    return "failed" if isinstance(error, NaviError) else "crashed"


def _said(error: Exception) -> str:
    return str(error) or type(error).__name__


def _check_length(name: str, before: Candidates, after: Candidates) -> None:
    if len(after) > len(before):
        raise StageError(name, f"made {len(after)} candidates out of {len(before)}")
