"""What a bundle's models and caches do, for those who watch."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from navi.batching.plain_servable import PlainServable
from navi.batching.scorer import Scorer
from navi.bundle.bundle import Bundle
from navi.bundle.loaded import Loaded
from navi.bundle.swap_observer import SwapOutcome
from navi.features.cache import CacheStats, FeatureCache
from navi.models.plain import PlainModel
from navi.server.buffer import Buffer, Count, Values
from navi.server.instruments import Instruments
from navi.server.metrics import Metrics

_ROWS = tuple(float(2**power) for power in range(17))
_RUN = (0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
_WAIT = (0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)


@dataclass(frozen=True, slots=True)
class _Runs:
    """What is counted of one model's runs."""

    rows: Values
    seconds: Values
    waits: Values
    calls: Count


class BundleMetrics:
    """Is told of runs as a `BatchObserver`, of models as a `SwapObserver`, and polls caches. For many threads.

    Made before the bundle is opened, which takes it as its observer; then `attach` it to what was opened.
    """

    def __init__(self, metrics: Metrics) -> None:
        make = Instruments(metrics.registry)
        metrics.sample_with(self._sample)
        self._batch_rows = make.histogram("navi_batch_rows", "Rows of a run of a model.", _ROWS, "model")
        self._run = make.histogram("navi_batch_run_seconds", "Time in a run of a model.", _RUN, "model")
        self._wait = make.histogram("navi_queue_wait_seconds", "Time a call waited for its run.", _WAIT, "model")
        self._calls = make.counter("navi_model_calls", "Calls to a model.", "model", "outcome")
        self._info = make.gauge(
            "navi_model_info",
            "1 for a version that is loaded, 0 for one that was.",
            "max",
            "model",
            "version",
            "provider",
            "digest",
        )
        self._load = make.gauge("navi_model_load_seconds", "Time to load a model.", "max", "model", "version")
        self._swaps = make.counter("navi_model_swaps", "Versions that came to serve, or failed to.", "model", "outcome")
        self._lookups = make.counter("navi_cache_lookups", "Rows asked of a cache.", "store", "outcome")
        self._evictions = make.counter("navi_cache_evictions", "Rows dropped for want of room.", "store")
        self._age = make.counter("navi_cache_hit_age_seconds", "Ages of rows answered from memory, summed.", "store")
        self._bytes = make.gauge("navi_cache_bytes", "Size of a cache's rows.", "livesum", "store")
        self._entries = make.gauge("navi_cache_entries", "Rows in a cache.", "livesum", "store")
        self._buffer = Buffer()
        self._runs = cache(self._new_runs)
        metrics.sample_with(self._buffer.flush)
        self._caches: dict[str, FeatureCache] = {}
        self._seen: dict[str, CacheStats] = {}

    def ran(self, model: str, rows: int, seconds: float, waits: Sequence[float]) -> None:
        with self._buffer.lock:
            runs = self._runs(model)
            runs.rows.add(rows)
            runs.seconds.add(seconds)
            for wait in waits:
                runs.waits.add(wait)
            runs.calls.add(len(waits))

    def dropped(self, model: str, reason: str) -> None:
        self._calls(model, reason).inc()

    def attach(self, bundle: Bundle) -> None:
        """Watch the bundle's caches from now on."""
        self._caches = {name: store for name, store in bundle.stores.items() if isinstance(store, FeatureCache)}

    def loaded(self, model: Loaded) -> None:
        """See `SwapObserver`, as for the two below."""
        self._info(*_told(model)).set(1)
        self._load(model.name, str(model.version)).set(_facts(model).load_s)

    def unloaded(self, model: Loaded) -> None:
        self._info(*_told(model)).set(0)

    def swapped(self, model: str, outcome: SwapOutcome) -> None:
        self._swaps(model, outcome).inc()

    def _sample(self) -> None:
        """Add what the caches have done since the last time; not from two threads at once."""
        for store, held in self._caches.items():
            now = held.stats()
            self._add(store, self._seen.get(store, _NOTHING), now)
            self._seen[store] = now

    def _new_runs(self, model: str) -> _Runs:
        keep = self._buffer.keep
        return _Runs(
            keep(Values(self._batch_rows(model), _ROWS)),
            keep(Values(self._run(model), _RUN)),
            keep(Values(self._wait(model), _WAIT)),
            keep(Count(self._calls(model, "run"))),
        )

    def _add(self, store: str, last: CacheStats, now: CacheStats) -> None:
        negative = now.negative_hits - last.negative_hits
        self._lookups(store, "hit").inc(now.hits - last.hits - negative)
        self._lookups(store, "negative").inc(negative)
        self._lookups(store, "miss").inc(now.misses - last.misses)
        self._evictions(store).inc(now.evictions - last.evictions)
        self._age(store).inc(now.hit_age_s - last.hit_age_s)
        self._bytes(store).set(now.bytes)
        self._entries(store).set(now.entries)


def _told(model: Loaded) -> tuple[str, str, str, str]:
    """The labels of `navi_model_info`."""
    facts = _facts(model)
    return model.name, str(model.version), facts.provider, facts.digest[:12]


def _facts(model: Loaded) -> Scorer | PlainModel:
    return model.model if isinstance(model, PlainServable) else model


_NOTHING = CacheStats(
    hits=0, negative_hits=0, misses=0, fetches=0, evictions=0, expirations=0, entries=0, bytes=0, hit_age_s=0.0
)
