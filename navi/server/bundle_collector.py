"""What a bundle's models and caches count, read when somebody asks for `/metrics`."""

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from navi.batching.batcher_stats import BatcherStats
from navi.bundle.bundle import Bundle
from navi.features.cache import FeatureCache


class BundleCollector(Collector):
    """Batches by model, rows of user features by store, and which versions are loaded."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle

    def collect(self) -> Iterator[Metric]:
        yield self._models()
        yield from self._batches()
        yield from self._caches()

    def _models(self) -> Metric:
        info = GaugeMetricFamily("navi_model_info", "Models loaded; always 1.", labels=("model", "version", "provider"))
        for name, scorer in self._bundle.scorers.items():
            info.add_metric((name, scorer.version, scorer.provider), 1)
        return info

    def _batches(self) -> Iterator[Metric]:
        rows = HistogramMetricFamily("navi_batch_rows", "Rows of a run of a model.", labels=("model",))
        run = CounterMetricFamily("navi_batch_run_seconds", "Time in runs of a model.", labels=("model",))
        wait = CounterMetricFamily("navi_queue_wait_seconds", "Time calls waited for a run.", labels=("model",))
        calls = CounterMetricFamily("navi_model_calls", "Calls to a model.", labels=("model", "outcome"))
        for name, scorer in self._bundle.scorers.items():
            stats = scorer.stats
            rows.add_metric((name,), _buckets(stats), sum_value=stats.rows)
            run.add_metric((name,), stats.run_s)
            wait.add_metric((name,), stats.wait_s)
            outcomes = {"run": stats.calls, "failed": stats.failed}
            for outcome, count in (*outcomes.items(), *stats.dropped.items()):
                calls.add_metric((name, outcome), count)
        yield from (rows, run, wait, calls)

    def _caches(self) -> Iterator[Metric]:
        lookups = CounterMetricFamily("navi_cache_lookups", "Rows asked of a cache.", labels=("store", "outcome"))
        size = GaugeMetricFamily("navi_cache_bytes", "Size of a cache's rows.", labels=("store",))
        for name, store in self._bundle.stores.items():
            if isinstance(store, FeatureCache):
                stats = store.stats()
                lookups.add_metric((name, "hit"), stats.hits)
                lookups.add_metric((name, "miss"), stats.misses)
                size.add_metric((name,), stats.bytes)
        yield from (lookups, size)


def _buckets(stats: BatcherStats) -> list[tuple[str, float]]:
    """Cumulative counts under upper bounds, as Prometheus has them."""
    total, buckets = 0, []
    for bound, count in stats.rows_histogram.items():
        total += count
        buckets.append((str(float(bound)), float(total)))
    return [*buckets, ("+Inf", float(total))]
