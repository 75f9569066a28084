"""Spans outside of a service: what is linked to what, what tool servers are told, and what it costs to have none."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import UUID

import pytest

from midwatch.kit.ids import new_id
from midwatch.telemetry.otel import OtelTracer, TraceSettings, open_tracer
from midwatch.telemetry.tracing import UNTRACED, RunIdentity, open_span, takes_content, trace_run
from midwatch.tools.mcp.server import open_mcp_server
from tests.fakes.cleared_calls import cleared_read
from tests.fakes.mcp_process import fake_mcp_server, read_effects
from tests.fakes.mcp_remote import Kind, read_requests, serve_remotely
from tests.fakes.otlp_collector import OtlpCollector, collecting


@asynccontextmanager
async def traced() -> AsyncGenerator[tuple[OtelTracer, OtlpCollector]]:
    with collecting() as collector:
        settings = TraceSettings(
            endpoint=f"{collector.endpoint}/v1/traces", service_name="midwatch", version="1", instance="pod"
        )
        async with open_tracer(settings) as tracer:
            yield tracer, collector


def identify(session_id: UUID, epoch: int, *, goes_on: bool = False) -> RunIdentity:
    return RunIdentity(session_id=session_id, epoch=epoch, goes_on=goes_on)


async def test_a_run_that_goes_on_is_linked_to_the_one_before_it_whoever_made_that() -> None:
    session_id = new_id()
    async with traced() as (tracer, collector):
        with trace_run(tracer, "investigate", identity=identify(session_id, 4), attributes={}):
            pass
    async with traced() as (other, later):
        with trace_run(other, "investigate", identity=identify(session_id, 5, goes_on=True), attributes={}):
            pass
    (first,), (second,) = collector.spans, later.spans
    assert first.trace_id == second.trace_id == session_id.hex
    assert first.span_id != second.span_id
    assert first.links == ()
    assert second.links == ((first.trace_id, first.span_id),)


async def test_calls_side_by_side_are_siblings() -> None:
    async def work(name: str) -> None:
        with open_span(name, {}):
            await asyncio.sleep(0)

    async with traced() as (tracer, collector):
        with trace_run(tracer, "run", identity=identify(new_id(), 1), attributes={}):
            async with asyncio.TaskGroup() as group:
                for name in ("one", "other"):
                    group.create_task(work(name))
    (run,) = collector.named("run")
    assert {span.parent_id for span in collector.spans if span is not run and span.name != "run"} == {run.span_id}


async def test_a_run_begins_a_trace_of_its_own_wherever_it_is_begun() -> None:
    async with traced() as (tracer, collector):
        with trace_run(tracer, "outer", identity=identify(new_id(), 1), attributes={}):
            with trace_run(tracer, "inner", identity=identify(new_id(), 1), attributes={}):
                pass
            with open_span("after", {}):
                pass
    (outer,), (inner,), (after,) = collector.named("outer"), collector.named("inner"), collector.named("after")
    assert inner.parent_id == ""
    assert inner.trace_id != outer.trace_id
    assert after.parent_id == outer.span_id


async def test_an_error_is_told_by_its_class_and_never_by_its_words() -> None:
    async with traced() as (tracer, collector):
        with (
            pytest.raises(ValueError, match="hunter2"),
            trace_run(tracer, "run", identity=identify(new_id(), 1), attributes={}),
        ):
            raise ValueError("hunter2")
    (run,) = collector.spans
    assert run.failed == "ValueError"
    assert run.attributes["error.type"] == "ValueError"
    assert b"hunter2" not in b"".join(collector.bodies)


async def test_a_server_on_a_pipe_is_told_what_its_call_belongs_to(tmp_path: Path) -> None:
    effects = tmp_path / "effects"
    config = fake_mcp_server("--effects", str(effects), "--log-reads")
    async with traced() as (tracer, collector), open_mcp_server("deck", config, environment={}) as tools:
        await tools.call(cleared_read("deck.echo", {"text": "before"}))
        with trace_run(tracer, "run", identity=identify(new_id(), 1), attributes={}), open_span("call", {}):
            await tools.call(cleared_read("deck.echo", {"text": "within"}))
    (call,) = collector.named("call")
    before, within = read_effects(effects)
    assert "traceparent" not in before
    assert within["traceparent"] == f"00-{call.trace_id}-{call.span_id}-01"


@pytest.mark.parametrize("kind", ["http", "sse"])
async def test_a_server_behind_http_finds_it_in_the_headers_too(kind: Kind, tmp_path: Path) -> None:
    requests = tmp_path / "requests"
    async with (
        serve_remotely(kind, "--requests", str(requests)) as server,
        traced() as (tracer, collector),
        open_mcp_server("far", server.configure(), environment={}) as tools,
    ):
        with trace_run(tracer, "run", identity=identify(new_id(), 1), attributes={}), open_span("call", {}):
            await tools.call(cleared_read("far.echo", {"text": "x"}))
    (call,) = collector.named("call")
    told = {entry["headers"].get("traceparent") for entry in read_requests(requests)}
    assert told == {None, f"00-{call.trace_id}-{call.span_id}-01"}


def test_whoever_traces_nothing_loads_nothing_of_it() -> None:
    code = (
        "import sys, midwatch.wiring, midwatch.api.app\n"
        "sys.exit(any(name.startswith(('opentelemetry.sdk', 'opentelemetry.exporter')) for name in sys.modules))"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_outside_of_a_run_and_without_a_tracer_nothing_is_told() -> None:
    assert not takes_content()
    with open_span("nothing", {"a": 1}) as span:
        span.note({"b": 2})
        span.rename("still nothing")
        span.fail("CODE")
    with trace_run(UNTRACED, "run", identity=identify(new_id(), 1), attributes={}) as run:
        run.note({"a": 1})
