"""What the stages of the pipelines did: rows in and out, what was dropped, what was left undone, how it scored."""

from dataclasses import dataclass

from navi.server.page.samples import Samples
from navi.server.page.traffic import DEGRADED, FULL, Spans, Tally, tally
from navi.server.page.units import ratio


@dataclass(frozen=True, slots=True)
class Flow:
    """A stage's rows since the start; a call: of the last minute. dropped: by reason, most first."""

    pipeline: str
    stage: str
    rows_in: float
    rows_out: float
    in_a_call: float | None
    out_a_call: float | None
    dropped: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class Degradations:
    """What was left undone, and how many of the last minute's answers were `degraded` for it."""

    rows: list[Tally]
    degraded: float
    answered: float


@dataclass(frozen=True, slots=True)
class Score:
    """Of one task of one pipeline: mean of the answers' mean scores, in the last minute and since the start."""

    pipeline: str
    task: str
    minute: float | None
    total: float | None
    answers: float


def flows(spans: Spans) -> list[Flow]:
    keys = spans.total.by(("pipeline", "stage"), "navi_stage_rows_total")
    return [_flow(spans, pipeline, stage) for pipeline, stage in keys]


def degradations(spans: Spans) -> Degradations:
    calls = spans.minute.by(("outcome",), "navi_requests_total")
    degraded = calls.get((DEGRADED,), 0.0)
    rows = tally(spans, "navi_degraded_total", ("stage", "reason", "pipeline"))
    return Degradations(rows, degraded, degraded + calls.get((FULL,), 0.0))


def sources(spans: Spans) -> list[Tally]:
    return tally(spans, "navi_source_candidates_total", ("source", "pipeline"))


def scores(spans: Spans) -> list[Score]:
    keys = spans.total.by(("pipeline", "task"), "navi_task_score_count")
    return [
        Score(pipeline, task, _mean(spans.minute, pipeline, task), _mean(spans.total, pipeline, task), answers)
        for (pipeline, task), answers in keys.items()
    ]


def _flow(spans: Spans, pipeline: str, stage: str) -> Flow:
    where = {"pipeline": pipeline, "stage": stage}
    calls = spans.minute.total("navi_stage_seconds_count", **where)
    (total_in, minute_in), (total_out, minute_out) = (
        tuple(span.total("navi_stage_rows_total", direction=way, **where) for span in (spans.total, spans.minute))
        for way in ("in", "out")
    )
    dropped = spans.total.by(("reason",), "navi_stage_dropped_total", **where)
    reasons = sorted(((reason, rows) for (reason,), rows in dropped.items()), key=lambda found: (-found[1], found[0]))
    return Flow(pipeline, stage, total_in, total_out, ratio(minute_in, calls), ratio(minute_out, calls), tuple(reasons))


def _mean(samples: Samples, pipeline: str, task: str) -> float | None:
    where = {"pipeline": pipeline, "task": task}
    return ratio(samples.total("navi_task_score_sum", **where), samples.total("navi_task_score_count", **where))
