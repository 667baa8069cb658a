"""From what the sources found to one list of candidates."""

from candidates.gather import SourceResult
from candidates.source import Fetched
from navi.core.candidates import Candidates
from navi.core.ranking import StageReport
from ranking.runner import Outcome, Runner
from ranking.steps import Steps


def merge(run: Runner, found: list[SourceResult], steps: Steps) -> Candidates:
    """Each candidate once, with the sources that brought it; a source that failed or was late is reported."""
    for result in found:
        _report(run, result)
    lists = [Fetched.nothing() if result.fetched is None else result.fetched for result in found]
    total = sum(len(entry.rows) for entry in lists)

    def work() -> Outcome[Candidates]:
        merged, cut = steps.blend.merge(lists)
        return Outcome(merged, len(merged), {"limit": cut} if cut else {})

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
            degraded=failed,
            dropped={} if result.fetched is None else result.fetched.dropped,
        )
    )
    if failed:
        run.degrade(name, result.reason, result.detail)
