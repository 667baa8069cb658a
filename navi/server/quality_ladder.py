"""The degradation ladders of a server's pipelines: fed by the calls that end, asked by those that begin."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from navi.core.clock import Clock
from navi.core.effort import FULL, LEVELS
from navi.core.query import Query
from navi.server.call import Call, Ending
from navi.server.instruments import Instruments
from navi.server.metrics import Metrics
from navi.server.quality import Quality
from navi.server.settings import ServerSettings

_RANK = "Rank"
"""The method that can cost less: `Score` owes a score for each candidate, and is never degraded."""

_GIVEN_UP: Final = frozenset({"DEADLINE_EXCEEDED", "CANCELLED"})


@dataclass(frozen=True, slots=True)
class QualityLadder:
    """A `Watcher` with a ladder a pipeline; none where the operator has set no target, and then everything is full."""

    qualities: Mapping[str, Quality] = field(default_factory=dict)

    @classmethod
    def of(cls, settings: ServerSettings, pipelines: Iterable[str], metrics: Metrics, clock: Clock) -> "QualityLadder":
        """As the settings say; what it does is told by `metrics`."""
        if not settings.latency_target_ms:
            return cls()
        target_s, percentile = settings.latency_target_ms / 1000, settings.latency_percentile
        ladder = cls({name: Quality(target_s, percentile, clock) for name in sorted(pipelines)})
        ladder._export(metrics)
        return ladder

    def eased(self, pipeline: str, query: Query) -> Query:
        """The query with what it may cost if it is begun now."""
        quality = self.qualities.get(pipeline)
        effort = FULL if quality is None else quality.effort()
        return query if effort is FULL else replace(query, effort=effort)

    def ended(self, call: Call, ending: Ending) -> None:
        """Learn from an answer, and from a caller who gave up after the target.

        One who gave up before it says nothing of the target, or callers with deadlines that nobody can meet would
        degrade the answers of all. A call that nobody had read when its time was over waited for a thread, which all
        pipelines share: it is late for each.
        """
        if not self.qualities or call.method != _RANK:
            return
        for quality in self._concerned(call):
            if ending.code == "OK" or (ending.code in _GIVEN_UP and ending.seconds > quality.target_s):
                quality.observe(call.arrival.monotonic, ending.seconds)

    def close(self) -> None:
        """Nothing was begun."""

    def _concerned(self, call: Call) -> Iterable[Quality]:
        if not call.pipeline:
            return self.qualities.values()
        quality = self.qualities.get(call.pipeline)
        return () if quality is None else (quality,)

    def _export(self, metrics: Metrics) -> None:
        make = Instruments(metrics.registry)
        factors = make.gauge(
            "navi_quality", "Share of the candidates that is re-ranked where any are.", "min", "pipeline"
        )
        levels = make.gauge(
            "navi_quality_level", "0 full, 1 fewer re-ranked, 2 coarse order, 3 cached or popular.", "max", "pipeline"
        )

        def sample() -> None:
            for name, quality in self.qualities.items():
                factors(name).set(quality.factor)
                levels(name).set(LEVELS.index(quality.level))

        metrics.sample_with(sample)
        sample()
