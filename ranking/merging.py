"""From what the sources found to one list of candidates."""

from candidates.gather import SourceResult
from candidates.source import Fetched
from navi.core.candidates import Candidates
from navi.core.ranking import StageReport
from ranking.effort import first
from ranking.runner import Outcome, Runner
from ranking.steps import Steps


def merge(run: Runner, found: list[SourceResult], recalled: Candidates | None, steps: Steps) -> Candidates:
    """Each candidate once, with the sources that brought it; a source that failed or was late is reported.

    recalled: of an earlier answer, which stand first.
    """
    for result in found:
        _report(run, result)
    lists = [Fetched.nothing() if result.fetched is None else result.fetched for result in found]
    total = sum(len(entry.rows) for entry in lists) + (0 if recalled is None else len(recalled))

    def work() -> Outcome[Candidates]:
        merged, kept = steps.blend.merge(lists)
        if recalled is not None:
            merged, kept = first(recalled, merged), first(recalled, kept)
        run.follow("blend", "limit", merged, kept)
        cut = len(merged) - len(kept)
        return Outcome(kept, len(kept), {"limit": cut} if cut else {})

    return run.required("blend", total, work)


def _report(run: Runner, result: SourceResult) -> None:
    name = f"source.{result.name}"
    failed = result.fetched is None
    run.stages.append(
        StageReport(
            name=name,
            rows_in=0,
            rows_out=0 if result.fetched is None else len(result.fetched.rows),
            microseconds=result.microseconds,
            offset=run.offset(result.started),
            degraded=failed,
            dropped={} if result.fetched is None else result.fetched.dropped,
        )
    )
    if failed:
        run.degrade(name, result.reason, result.detail)
