"""The second port: metrics that a scraper reads, probes, and a page for people."""

import http.client
from threading import Event, Thread

import pytest
from prometheus_client import Counter
from prometheus_client.parser import text_string_to_metric_families

from navi.core import errors


def fetch(at, path, method="GET"):
    connection = http.client.HTTPConnection(at.http.removeprefix("http://"), timeout=10)
    connection.request(method, path)
    reply = connection.getresponse()
    body = reply.read()
    connection.close()
    return reply, body.decode()


def samples(at):
    reply, body = fetch(at, "/metrics")
    assert reply.status == 200
    return {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(body)
        for sample in family.samples
    }


def test_a_scrape_holds_the_server_and_its_process(navi):
    with navi.serve() as at:
        at.client.rank()
        found = samples(at)
    assert found["navi_request_seconds_count", ("method", "Rank"), ("pipeline", "home")] == 1
    assert found["navi_in_flight",] == 0
    assert found["process_resident_memory_bytes",] > 0


def test_other_rooms_can_show_metrics_too(navi):
    with navi.serve() as at:
        Counter("navi_lunches", "Lunches.", registry=at.server.registry).inc(3)
        assert samples(at)["navi_lunches_total",] == 3


def test_a_label_does_not_grow_with_what_callers_send(navi):
    with navi.serve() as at:
        for number in range(20):
            with pytest.raises(errors.NotFound):
                at.client.rank(pipeline=f"p{number}")
        pipelines = {value for key in samples(at) for name, value in key[1:] if name == "pipeline"}
    assert pipelines == {"unknown"}


@pytest.mark.parametrize(
    ("path", "text"), [("/healthz", "alive\n"), ("/readyz", "ready\n"), ("/readyz?verbose", "ready\n")]
)
def test_probes_are_answered(navi, path, text):
    with navi.serve() as at:
        reply, body = fetch(at, path)
    assert (reply.status, body) == (200, text)


def test_a_server_that_stops_is_alive_but_not_ready(navi):
    opened, page = Event(), {}

    def slow(query):
        opened.wait(20)
        return navi.ranking(query)

    with navi.serve(navi.pipeline(slow)) as at:
        call = at.start_rank(b"\x20\x01", timeout=20)
        navi.eventually(lambda: at.value("navi_in_flight") == 1)

        def watch():
            navi.eventually(lambda: fetch(at, "/readyz")[0].status == 503)
            page["alive"] = fetch(at, "/healthz")[0].status
            opened.set()

        watcher = Thread(target=watch)
        watcher.start()
    watcher.join()
    assert page == {"alive": 200}
    assert call.exception(timeout=20) is None


def test_the_index_page_is_for_people(navi):
    with navi.serve({"<b>": navi.pipeline()}) as at:
        reply, body = fetch(at, "/")
    assert reply.status == 200
    assert reply.headers["Content-Type"].startswith("text/html")
    assert "&lt;b&gt;" in body
    assert "<b>" not in body
    assert 'href="/metrics"' in body


def test_what_is_not_there_is_404_and_what_cannot_be_done_is_405(navi):
    with navi.serve() as at:
        assert fetch(at, "/secrets")[0].status == 404
        for method in ("POST", "PUT", "DELETE", "OPTIONS", "BREW"):
            reply, _ = fetch(at, "/metrics", method)
            assert (reply.status, reply.headers["Allow"]) == (405, "GET, HEAD")


@pytest.mark.parametrize("path", ["/", "/healthz", "/nothing"])
def test_head_has_the_headers_of_get_and_no_body(navi, path):
    with navi.serve() as at:
        reply, body = fetch(at, path, "HEAD")
        same, full = fetch(at, path)
    assert body == ""
    assert reply.status == same.status
    # The page tells how long the server has been up, so that two of them may differ by some digits.
    assert int(reply.headers["Content-Length"]) == pytest.approx(len(full.encode()), abs=20 if path == "/" else 0)


def test_the_second_port_can_be_off(navi):
    with navi.serve(http_address="") as at:
        assert at.http.endswith("None")
        assert at.client.rank()
