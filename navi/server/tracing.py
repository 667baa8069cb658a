"""Calls and their stages as OpenTelemetry spans."""

import os
import sys

from opentelemetry.context import Context
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter, SpanExporter
from opentelemetry.trace import SpanKind, Status, StatusCode, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from navi import __version__
from navi.core.errors import ConfigError
from navi.core.ranking import StageReport
from navi.server.background import Background
from navi.server.call import Call, Ending, Origin

_WAITING = 1024
"""Calls that wait to become spans; further ones are left out."""


class Tracing:
    """A watcher: makes a span a call, a child of the caller's, and below it a span a stage, once the call has ended.

    Nothing happens on the call's way but that it is put into a queue; what the sampler leaves out costs no more.
    """

    def __init__(self, provider: TracerProvider) -> None:
        self._provider = provider
        self._tracer = provider.get_tracer("navi", __version__)
        self._propagator = TraceContextTextMapPropagator()
        self._maker: Background[tuple[Call, Ending]] = Background(
            "tracer", self._trace, limit=_WAITING, failed=lambda _: None
        ).start()

    @classmethod
    def open(cls) -> "Tracing":
        """As the environment says: OTEL_TRACES_EXPORTER (`otlp` over gRPC, or `console`), OTEL_EXPORTER_OTLP_ENDPOINT,
        OTEL_SERVICE_NAME (default: navi), OTEL_TRACES_SAMPLER and so on. ConfigError for another exporter."""
        resource = Resource.create()
        if str(resource.attributes.get(SERVICE_NAME, "unknown_service")).startswith("unknown_service"):
            resource = resource.merge(Resource({SERVICE_NAME: "navi"}))
        provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        provider.add_span_processor(BatchSpanProcessor(_exporter()))
        return cls(provider)

    def ended(self, call: Call, ending: Ending) -> None:
        self._maker.put((call, ending))

    def close(self) -> None:
        """Send what was made."""
        self._maker.close()
        self._provider.shutdown()

    def _trace(self, ended: tuple[Call, Ending]) -> None:
        call, ending = ended
        start = _nanoseconds(call.arrival.time)
        end = start + _nanoseconds(ending.seconds)
        span = self._tracer.start_span(
            call.path.removeprefix("/"), self._parent(call.origin), SpanKind.SERVER, start_time=start
        )
        if span.is_recording():
            span.set_attributes(_attributes(call, ending))
            if ending.outcome not in ("ok", "degraded"):
                span.set_status(Status(StatusCode.ERROR, str(call.error or ending.code)))
            self._trace_stages(call, set_span_in_context(span), start, end)
        span.end(end)

    def _trace_stages(self, call: Call, parent: Context, start: int, end: int) -> None:
        if call.answer is None:
            return
        asked = start + _nanoseconds(call.asked_at - call.arrival.monotonic)
        for stage in call.answer.stages:
            begun = min(asked + stage.offset * 1000, end)
            child = self._tracer.start_span(stage.name, parent, start_time=begun, attributes=_of_stage(stage))
            if stage.degraded:
                child.set_status(Status(StatusCode.ERROR, "degraded"))
            child.end(min(begun + stage.microseconds * 1000, end))

    def _parent(self, origin: Origin) -> Context:
        carrier = {"traceparent": origin.traceparent, "tracestate": origin.tracestate}
        return self._propagator.extract({name: value for name, value in carrier.items() if value}, Context())


def _attributes(call: Call, ending: Ending) -> dict[str, str | int]:
    service, _, method = call.path.removeprefix("/").rpartition("/")
    told: dict[str, str | int] = {
        "rpc.system": "grpc",
        "rpc.service": service,
        "rpc.method": method,
        "navi.request_id": call.request_id,
        "navi.pipeline": call.pipeline,
        "navi.caller": call.caller,
        "navi.outcome": ending.outcome,
    }
    if call.query is not None:
        told["navi.k"] = call.query.k
    if call.answer is not None:
        told["navi.candidates"] = max((stage.rows_in for stage in call.answer.stages), default=0)
    return told


def _of_stage(stage: StageReport) -> dict[str, int]:
    dropped = {f"navi.dropped.{reason}": rows for reason, rows in stage.dropped.items()}
    return {"navi.rows_in": stage.rows_in, "navi.rows_out": stage.rows_out, **dropped}


def _exporter() -> SpanExporter:
    name = os.environ.get("OTEL_TRACES_EXPORTER", "otlp")
    if name == "console":
        return ConsoleSpanExporter(out=sys.stdout)
    if name == "otlp":
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter

        return OTLPSpanExporter()
    raise ConfigError("tracing", f"OTEL_TRACES_EXPORTER is {name!r}, where otlp or console is expected")


def _nanoseconds(seconds: float) -> int:
    return round(seconds * 1e9)
