"""What is added up in memory and handed over is what Prometheus' client would have counted itself."""

from threading import Thread

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Counter, Histogram, Summary

from navi.server.buffer import Buffer, Count, Means, Values

BOUNDS = (0.5, 1.0, 2.0)


def instruments():
    registry = CollectorRegistry()
    made = (
        Histogram("h", "H.", buckets=BOUNDS, registry=registry),
        Summary("s", "S.", registry=registry),
        Counter("c", "C.", registry=registry),
    )
    return registry, made


def shown(registry):
    families = registry.collect()
    return [
        (one.name, one.labels, one.value) for family in families for one in family.samples if "created" not in one.name
    ]


@given(st.lists(st.lists(st.sampled_from([-1.0, 0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 64.0]), max_size=8), max_size=4))
def test_handing_over_at_any_moment_gives_what_counting_one_by_one_gives(groups):
    registry, (histogram, summary, counter) = instruments()
    expected, (same_histogram, same_summary, same_counter) = instruments()
    buffer = Buffer()
    values, means, count = Values(histogram, BOUNDS), Means(summary), Count(counter)
    for part in (values, means, count):
        buffer.keep(part)
    for group in groups:
        for value in group:
            values.add(value)
            means.add(value)
            count.add(2)
            same_histogram.observe(value)
            same_summary.observe(value)
            same_counter.inc(2)
        buffer.flush()
        assert shown(registry) == shown(expected)


def test_nothing_is_lost_or_counted_twice_between_threads():
    registry, (_, _, counter) = instruments()
    buffer = Buffer()
    count = buffer.keep(Count(counter))

    def add():
        for _ in range(2000):
            with buffer.lock:
                count.add()

    threads = [Thread(target=add) for _ in range(3)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        buffer.flush()
    buffer.flush()
    assert registry.get_sample_value("c_total") == 6000
