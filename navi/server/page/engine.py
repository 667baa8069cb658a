"""What models, caches and processes did."""

from collections.abc import Sequence
from dataclasses import dataclass

from navi.server.facts import ModelFacts
from navi.server.page.traffic import Spans, Tally, Timing, tally
from navi.server.page.units import ratio

_OUTCOMES = ("hit", "negative", "miss")


@dataclass(frozen=True, slots=True)
class ModelUse:
    """One model. calls, runs, rows_a_run, wait, run: of the last minute; outcomes: of calls, since the start."""

    facts: ModelFacts
    calls: float
    runs: float
    rows_a_run: float | None
    wait: Timing
    run: Timing
    outcomes: list[Tally]


@dataclass(frozen=True, slots=True)
class CacheUse:
    """One store's cache: lookups in the last minute and since the start, what it holds now.

    hit_age_s: mean age of the rows answered from memory since the start. entries: None where that is not exported.
    """

    store: str
    minute: dict[str, float]
    total: dict[str, float]
    hit_age_s: float | None
    bytes: float
    entries: float | None
    evicted: float


@dataclass(frozen=True, slots=True)
class Worker:
    """One slot. calls, cores: of the last minute; own_bytes: of shared pages its share. None: it has no process."""

    slot: str
    calls: float
    cores: float | None
    bytes: float | None
    own_bytes: float | None
    restarts: float


def models(spans: Spans, facts: Sequence[ModelFacts]) -> list[ModelUse]:
    return [_model(spans, found) for found in facts]


def caches(spans: Spans) -> list[CacheUse]:
    stores = sorted(store for (store,) in spans.total.by(("store",), "navi_cache_lookups_total"))
    return [_cache(spans, store) for store in stores]


def workers(spans: Spans) -> list[Worker]:
    """Empty where the server is one process."""
    slots = [slot for (slot,) in spans.total.by(("slot",), "navi_worker_restarts_total")]
    return [_worker(spans, slot) for slot in sorted(slots, key=lambda slot: (len(slot), slot))]


def _worker(spans: Spans, slot: str) -> Worker:
    cpu_s = spans.minute.by(("slot",), "navi_worker_cpu_seconds_total").get((slot,))
    return Worker(
        slot=slot,
        calls=spans.minute.total("navi_worker_requests_total", slot=slot),
        cores=None if cpu_s is None else ratio(cpu_s, spans.seconds),
        bytes=spans.total.by(("slot",), "navi_worker_resident_bytes").get((slot,)),
        own_bytes=spans.total.by(("slot",), "navi_worker_proportional_bytes").get((slot,)),
        restarts=spans.total.total("navi_worker_restarts_total", slot=slot),
    )


def _model(spans: Spans, facts: ModelFacts) -> ModelUse:
    name = facts.name
    rows = spans.minute.histogram("navi_batch_rows", model=name)
    return ModelUse(
        facts=facts,
        calls=spans.minute.total("navi_model_calls_total", model=name),
        runs=rows.count,
        rows_a_run=rows.mean,
        wait=Timing.of(spans.minute.histogram("navi_queue_wait_seconds", model=name)),
        run=Timing.of(spans.minute.histogram("navi_batch_run_seconds", model=name)),
        outcomes=tally(spans, "navi_model_calls_total", ("outcome",), model=name),
    )


def _cache(spans: Spans, store: str) -> CacheUse:
    minute, total = (
        {outcome: span.total("navi_cache_lookups_total", store=store, outcome=outcome) for outcome in _OUTCOMES}
        for span in (spans.minute, spans.total)
    )
    ages = spans.total.total("navi_cache_hit_age_seconds_total", store=store)
    entries = spans.total.by(("store",), "navi_cache_entries").get((store,))
    return CacheUse(
        store=store,
        minute=minute,
        total=total,
        hit_age_s=ratio(ages, total["hit"]),
        bytes=spans.total.total("navi_cache_bytes", store=store),
        entries=entries,
        evicted=spans.total.total("navi_cache_evictions_total", store=store),
    )
