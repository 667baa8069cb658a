"""Calls become spans below their caller's, with a span for each stage; OpenTelemetry is asked for only then."""

import sys

import grpc
import pytest

from navi.core import StageReport, errors

pytest.importorskip("opentelemetry.sdk", reason="the extra `otel` is not installed")

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
from opentelemetry.trace import SpanKind, StatusCode

from navi.server.tracing import Tracing

RANK = "/navi.v1.RankingService/Rank"
REQUEST = b"\x20\x01"
TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
SAMPLED = (("traceparent", f"00-{TRACE}-{PARENT}-01"), ("tracestate", "vendor=1"))
STAGES = (
    StageReport(name="source.popular", rows_in=0, rows_out=30, microseconds=20, offset=5),
    StageReport(name="rerank", rows_in=30, rows_out=30, microseconds=10**9, offset=30, degraded=True),
    StageReport(name="select", rows_in=30, rows_out=3, microseconds=1, offset=10**9, dropped={"beyond_k": 27}),
)


def spans(navi, pipeline, metadata=(), *, sampler=None, fails=False):
    """What one call leaves behind, the call's span first."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(sampler=sampler)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracing = Tracing(provider)
    with navi.serve(pipeline, more=(tracing,)) as at:
        call = at.channel.unary_unary(RANK)
        if fails:
            with pytest.raises(grpc.RpcError):
                call(REQUEST, metadata=metadata, timeout=20)
        else:
            call(REQUEST, metadata=metadata, timeout=20)
    tracing.close()
    return sorted(exporter.get_finished_spans(), key=lambda span: span.kind is not SpanKind.SERVER)


def test_a_call_is_a_child_of_its_callers_span_and_its_stages_nest_in_it(navi):
    whole, *stages = spans(navi, navi.pipeline(lambda query: navi.ranking(query, stages=STAGES)), SAMPLED)
    assert f"{whole.context.trace_id:032x}" == TRACE
    assert f"{whole.parent.span_id:016x}" == PARENT
    assert whole.context.trace_state.get("vendor") == "1"
    assert (whole.name, whole.kind) == (RANK[1:], SpanKind.SERVER)
    assert whole.attributes["navi.pipeline"] == "home"
    assert whole.attributes["navi.k"] == 1
    assert whole.attributes["navi.outcome"] == "degraded"
    assert whole.attributes["navi.candidates"] == 30
    assert len(whole.attributes["navi.request_id"]) == 12
    assert {stage.name for stage in stages} == {stage.name for stage in STAGES}
    for stage in stages:
        assert stage.parent.span_id == whole.context.span_id
        assert f"{stage.context.trace_id:032x}" == TRACE
        assert whole.start_time <= stage.start_time <= stage.end_time <= whole.end_time
    by_name = {stage.name: stage for stage in stages}
    assert by_name["select"].attributes["navi.dropped.beyond_k"] == 27
    assert by_name["rerank"].status.status_code is StatusCode.ERROR
    assert by_name["source.popular"].end_time - by_name["source.popular"].start_time == 20_000


def test_a_failed_call_is_a_span_with_an_error(navi):
    [whole] = spans(navi, navi.raising(errors.StageError("rerank", "broke")), SAMPLED, fails=True)
    assert whole.status.status_code is StatusCode.ERROR
    assert "broke" in whole.status.description
    assert whole.attributes["navi.outcome"] == "error"


def test_a_call_without_a_trace_begins_one(navi):
    whole, *_ = spans(navi, navi.pipeline())
    assert whole.parent is None


@pytest.mark.parametrize("parent", ["00-zz-1-01", "garbage", f"00-{'0' * 32}-{PARENT}-01"])
def test_a_damaged_trace_is_a_new_one(navi, parent):
    whole, *_ = spans(navi, navi.pipeline(), (("traceparent", parent),))
    assert whole.parent is None


def test_what_the_caller_does_not_sample_makes_no_spans(navi):
    metadata = (("traceparent", f"00-{TRACE}-{PARENT}-00"),)
    assert spans(navi, navi.pipeline(), metadata, sampler=ParentBased(TraceIdRatioBased(1.0))) == []


def test_spans_go_where_the_environment_says(navi, monkeypatch, capsys):
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "console")
    with navi.serve(tracing=True) as at:
        at.client.rank()
    assert RANK[1:] in capsys.readouterr().out
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "pigeon")
    with pytest.raises(errors.ConfigError, match="pigeon"), navi.serve(tracing=True):
        pass


def test_tracing_without_its_packages_says_which_extra_is_missing(navi, monkeypatch):
    monkeypatch.setitem(sys.modules, "navi.server.tracing", None)  # as where it cannot be imported
    with pytest.raises(errors.ConfigError, match=r"navi-ranking\[otel\]"), navi.serve(tracing=True):
        pass
