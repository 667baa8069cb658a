"""What is counted of shadows: versions that answer once more, for comparison."""

import math

from navi.server.instruments import Instruments
from navi.server.metrics import Metrics


class ShadowMetrics:
    """Told by one thread; `left` by any."""

    def __init__(self, metrics: Metrics) -> None:
        make = Instruments(metrics.registry)
        self._requests = make.counter(
            "navi_shadow_requests", "Answers that a shadow was to give once more.", "model", "outcome"
        )
        self._difference = make.summary("navi_shadow_difference", "Mean size of score differences, an answer.", "model")
        self._largest = make.gauge("navi_shadow_largest_difference", "Largest score difference so far.", "max", "model")
        self._correlation = make.summary("navi_shadow_rank_correlation", "Spearman's, an answer.", "model")

    def compared(self, model: str, *, mean: float, largest: float, correlation: float) -> None:
        """Two answers were compared. largest: so far. correlation: NaN where it cannot be told."""
        self._requests(model, "compared").inc()
        self._difference(model).observe(mean)
        self._largest(model).set(largest)
        if not math.isnan(correlation):
            self._correlation(model).observe(correlation)

    def left(self, model: str, outcome: str) -> None:
        """There was no comparison: `failed`, `left_out` for want of time, `nothing_in_common`."""
        self._requests(model, outcome).inc()
