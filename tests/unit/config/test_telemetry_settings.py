"""Where spans go: what is written, and what the environment says where nothing is."""

import pytest

from midwatch.config.telemetry import Telemetry, Traces, complete_telemetry
from tests.unit.config.folder import Folder

COMMON = "OTEL_EXPORTER_OTLP_ENDPOINT"
WHOLE = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"


@pytest.mark.parametrize(
    ("environ", "endpoint"),
    [
        ({}, None),
        ({COMMON: ""}, None),
        ({COMMON: "http://c:4318"}, "http://c:4318/v1/traces"),
        ({COMMON: "http://c:4318/"}, "http://c:4318/v1/traces"),
        ({WHOLE: "http://t/x"}, "http://t/x"),
        ({COMMON: "http://c:4318", WHOLE: "http://t/x"}, "http://t/x"),
        ({COMMON: "http://c:4318", "OTEL_SDK_DISABLED": "TRUE"}, None),
        ({COMMON: "http://c:4318", "OTEL_SDK_DISABLED": "false"}, "http://c:4318/v1/traces"),
    ],
)
def test_the_usual_variables_say_where_spans_go(environ: dict[str, str], endpoint: str | None) -> None:
    assert complete_telemetry(Telemetry(), environ).traces.endpoint == endpoint


def test_what_is_written_wins() -> None:
    written = Telemetry(traces=Traces(endpoint="http://w:1", service_name="ours"))
    environ = {COMMON: "http://c:4318", WHOLE: "http://t/x", "OTEL_SERVICE_NAME": "theirs"}
    traces = complete_telemetry(written, environ).traces
    assert (traces.endpoint, traces.service_name) == ("http://w:1/v1/traces", "ours")


def test_a_written_address_can_still_be_switched_off() -> None:
    written = Telemetry(traces=Traces(endpoint="http://w:1"))
    assert complete_telemetry(written, {"OTEL_SDK_DISABLED": "true"}).traces.endpoint is None


def test_the_name_may_come_from_the_environment() -> None:
    assert complete_telemetry(Telemetry(), {"OTEL_SERVICE_NAME": "theirs"}).traces.service_name == "theirs"


def test_an_address_that_is_none_is_told(folder: Folder) -> None:
    line = folder.add("telemetry: {traces: {endpoint: collector}}\n")
    (told,) = folder.problems()
    assert told.startswith(f"midwatch.yaml:{line}: telemetry.traces.endpoint: ")


def test_nothing_is_traced_unless_somebody_says_so(folder: Folder) -> None:
    config = folder.load()
    assert config.telemetry.metrics
    assert config.telemetry.traces.endpoint is None
    assert not config.telemetry.traces.content
