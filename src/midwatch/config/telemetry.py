"""The `telemetry` block: what is counted, and where spans go. The usual variables of OpenTelemetry count as well."""

from collections.abc import Mapping

from pydantic import Field

from midwatch.config.strict import ExactUrl, Name, Strict

_WHOLE = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
_COMMON = "OTEL_EXPORTER_OTLP_ENDPOINT"
_PATH = "/v1/traces"


class Traces(Strict):
    endpoint: ExactUrl | None = Field(
        default=None,
        repr=False,
        description="Collector that takes spans over OTLP/HTTP, such as `http://localhost:4318`; without one there "
        f"are none. The variables {_COMMON} and {_WHOLE} count where this is not written",
    )
    service_name: Name = Field(default="midwatch", description="How spans name this service; or OTEL_SERVICE_NAME")
    share: float = Field(default=1.0, ge=0, le=1, description="Share of sessions that are traced")
    content: bool = Field(default=False, description="Also tell what models and tools said, masked as people see it")


class Telemetry(Strict):
    metrics: bool = Field(default=True, description="Count, and show the counters at `/metrics`")
    traces: Traces = Field(default=Traces(), description="Spans of sessions, stages, agents, model and tool calls")


def complete_telemetry(written: Telemetry, environ: Mapping[str, str]) -> Telemetry:
    """With what the environment says where nothing is written. The address becomes the whole one."""
    traces = written.traces
    common = traces.endpoint or environ.get(_COMMON)
    whole = common.rstrip("/") + _PATH if common else None
    if traces.endpoint is None:
        whole = environ.get(_WHOLE) or whole
    is_off = environ.get("OTEL_SDK_DISABLED", "").lower() == "true"
    is_named = "service_name" in traces.model_fields_set
    name = traces.service_name if is_named else environ.get("OTEL_SERVICE_NAME") or traces.service_name
    completed = traces.model_copy(update={"endpoint": None if is_off else whole, "service_name": name})
    return written.model_copy(update={"traces": completed})
