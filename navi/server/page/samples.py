"""What was counted, at one moment: Prometheus samples that can be summed by their labels."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from prometheus_client import Metric

from navi.server.page.histogram import Histogram

Labels: TypeAlias = tuple[tuple[str, str], ...]
Series: TypeAlias = Mapping[str, Mapping[Labels, float]]


@dataclass(frozen=True, slots=True)
class Samples:
    """Values by sample name (`..._total`, `..._bucket`) and labels; a label that is not asked for is summed over."""

    series: Series

    @classmethod
    def of(cls, families: Iterable[Metric]) -> "Samples":
        series: dict[str, dict[Labels, float]] = defaultdict(dict)
        for family in families:
            for sample in family.samples:
                if not sample.name.endswith("_created"):
                    series[sample.name][tuple(sorted(sample.labels.items()))] = sample.value
        return cls(dict(series))

    def has(self, name: str) -> bool:
        return bool(self.series.get(name))

    def total(self, name: str, **labels: str) -> float:
        """0 where there is no such series."""
        return sum(value for _, value in self._matching(name, labels))

    def by(self, names: Sequence[str], name: str, **labels: str) -> dict[tuple[str, ...], float]:
        """Sums by the values of the labels `names`; an absent label counts as empty."""
        sums: dict[tuple[str, ...], float] = defaultdict(float)
        for found, value in self._matching(name, labels):
            sums[tuple(found.get(label, "") for label in names)] += value
        return dict(sums)

    def histogram(self, name: str, **labels: str) -> Histogram:
        """Of the metric `name`, without a suffix; an empty one where there is no such series."""
        counts = {float(bound): count for (bound,), count in self.by(("le",), f"{name}_bucket", **labels).items()}
        bounds = tuple(sorted(counts))
        return Histogram(bounds, tuple(counts[bound] for bound in bounds), self.total(f"{name}_sum", **labels))

    def _matching(self, name: str, labels: Mapping[str, str]) -> Iterable[tuple[dict[str, str], float]]:
        for key, value in self.series.get(name, {}).items():
            found = dict(key)
            if labels.items() <= found.items():
                yield found, value


def growth(moments: Sequence[Samples]) -> Samples:
    """By how much each series grew from the first moment to the last.

    A series that fell was started again and grew from zero since, as in Prometheus's `increase`; one that was not there
    was zero. Meaningless for gauges.
    """
    grown: dict[str, dict[Labels, float]] = defaultdict(dict)
    for before, after in pairwise(moments):
        for name, series in after.series.items():
            old, sums = before.series.get(name, {}), grown[name]
            for labels, value in series.items():
                start = old.get(labels, 0.0)
                sums[labels] = sums.get(labels, 0.0) + (value - start if value >= start else value)
    return Samples(dict(grown))
