"""What a bundle's models and caches do shows in the metrics: runs as they happen, caches when somebody looks."""

from types import SimpleNamespace

import numpy as np
import pytest
from batching_fakes import Held, call, rowwise

from navi.batching.batch_policy import BatchPolicy
from navi.batching.batcher import Batcher
from navi.core import errors
from navi.core.clock import ManualClock
from navi.core.deadline import Deadline
from navi.features.cache import FeatureCache
from navi.features.memory_store import MemoryStore
from navi.features.schema import FeatureSchema, Field
from navi.server.bundle_metrics import BundleMetrics
from navi.server.metrics import Metrics


@pytest.fixture
def metrics():
    return Metrics()


@pytest.fixture
def watched(metrics):
    return BundleMetrics(metrics)


def value(metrics, name, **labels):
    return metrics.registry.get_sample_value(name, labels)


def test_runs_rows_and_waits_are_counted_as_they_happen(metrics, watched):
    held = Held()
    batcher = Batcher(held, BatchPolicy(max_rows=100), name="ranker", observer=watched).start()
    first = batcher.submit(call(3), Deadline.after(30))
    assert held.running.acquire(timeout=30)
    others = [batcher.submit(call(5, mark), Deadline.after(30)) for mark in (1, 2)]
    gone = Deadline.after(30)
    dropped = batcher.submit(call(1), gone)
    gone.cancel()
    held.go.set()
    for pending in (first, *others):
        pending.result()
    with pytest.raises(errors.Cancelled):
        dropped.result()
    batcher.close()
    assert value(metrics, "navi_batch_rows_count", model="ranker") == 2
    assert value(metrics, "navi_batch_rows_sum", model="ranker") == 13
    assert value(metrics, "navi_batch_rows_bucket", model="ranker", le="4.0") == 1
    assert value(metrics, "navi_batch_run_seconds_count", model="ranker") == 2
    assert value(metrics, "navi_queue_wait_seconds_count", model="ranker") == 3
    assert value(metrics, "navi_model_calls_total", model="ranker", outcome="run") == 3
    assert value(metrics, "navi_model_calls_total", model="ranker", outcome="cancelled") == 1


def test_a_call_that_the_model_fails_on_is_failed_and_its_mates_are_run(metrics, watched):
    held = Held()
    batcher = Batcher(held, BatchPolicy(max_rows=100), name="ranker", observer=watched).start()
    first = batcher.submit(call(1), Deadline.after(30))
    assert held.running.acquire(timeout=30)
    bad, good = (batcher.submit(call(2, poison=poison), Deadline.after(30)) for poison in (True, False))
    held.go.set()
    first.result()
    good.result()
    with pytest.raises(errors.BackendError):
        bad.result()
    batcher.close()
    assert value(metrics, "navi_model_calls_total", model="ranker", outcome="failed") == 1
    assert value(metrics, "navi_model_calls_total", model="ranker", outcome="run") == 2


def test_a_late_call_is_counted_by_its_reason(metrics, watched):
    clock = ManualClock()
    batcher = Batcher(rowwise, BatchPolicy(max_rows=100), clock, name="ranker", observer=watched)
    pending = batcher.submit(call(1), Deadline.after(1, clock))
    clock.advance(2)
    batcher.start()
    with pytest.raises(errors.DeadlineExceeded):
        pending.result()
    batcher.close()
    assert value(metrics, "navi_model_calls_total", model="ranker", outcome="deadline") == 1


def test_models_are_told_with_their_version_digest_and_load_time(metrics, watched):
    scorer = SimpleNamespace(name="ranker", version="3", provider="cpu", digest="ab" * 32, load_s=0.25)
    watched.loaded(scorer)
    assert value(metrics, "navi_model_info", model="ranker", version="3", provider="cpu", digest="abababababab") == 1
    assert value(metrics, "navi_model_load_seconds", model="ranker", version="3") == 0.25
    watched.unloaded(scorer)
    assert value(metrics, "navi_model_info", model="ranker", version="3", provider="cpu", digest="abababababab") == 0


def test_a_cache_is_counted_up_to_the_moment_of_the_scrape(metrics, watched):
    clock = ManualClock()
    store = MemoryStore(FeatureSchema(fields={"age": Field(dtype="int64")}), key="int64")
    cache = FeatureCache(store, max_bytes=10_000, ttl_s=60, clock=clock)
    cache.put_many([1, 2], [{"age": np.array([4])}, {"age": np.array([5])}])
    watched.attach(SimpleNamespace(scorers={}, stores={"users": cache, "plain": store}))
    cache.get_many([1, 2, 9])
    clock.advance(2)
    cache.get_many([1, 9])
    for _ in range(2):  # what was counted is not counted again
        assert value(metrics, "navi_cache_lookups_total", store="users", outcome="hit") == 1
        assert value(metrics, "navi_cache_lookups_total", store="users", outcome="negative") == 1
        assert value(metrics, "navi_cache_lookups_total", store="users", outcome="miss") == 3
        assert value(metrics, "navi_cache_hit_age_seconds_total", store="users") == 2
        assert value(metrics, "navi_cache_entries", store="users") == 3
        assert value(metrics, "navi_cache_bytes", store="users") == cache.stats().bytes > 0
        assert value(metrics, "navi_cache_evictions_total", store="users") == 0
    assert value(metrics, "navi_cache_entries", store="plain") is None


def test_a_worker_that_nobody_scrapes_samples_by_itself(metrics):
    asked = []
    metrics.sample_with(lambda: asked.append(1))
    metrics.sample()
    assert asked == [1]
