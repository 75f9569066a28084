"""Spans of a real investigation, as a collector receives them."""

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from midwatch.config.env import read_env
from midwatch.config.load import load_config
from midwatch.kit import json
from midwatch.wiring import Plan, open_service
from tests.api.edge import CONCLUSION, Edge, Turn, call, running, serve_state, write_config
from tests.fakes.otlp_collector import OtlpCollector, ReceivedSpan, collecting
from tests.waiting import eventually

ALERT = "The bilge pump of canary-alert runs hot."
SAID = "canary-argument"
TURNS = (call("echo", text=SAID), call("restart", name="web"), call("canary_tool"), CONCLUSION)


@asynccontextmanager
async def open_traced(folder: Path, dsn: str, environ: dict[str, str]) -> AsyncGenerator[Edge]:
    env = read_env({"DATABASE_URL": dsn, "MIDWATCH_HOME": str(folder), "POD_ID": "pod-7"})
    plan = Plan(config=load_config(folder, environ=environ), env=env, environ=os.environ)
    async with open_service(plan) as service, serve_state(service.state) as (http, port):
        yield Edge(service=service, store=service.store, http=http, port=port)


async def investigate(folder: Path, dsn: str, *, environ: dict[str, str]) -> str:
    """One alert to its end, and the service closed."""
    async with open_traced(folder, dsn, environ) as edge, running(edge):
        session_id = await edge.submit(ALERT)

        async def has_ended() -> bool:
            return (await edge.show(session_id))["status"] == "completed"

        await eventually(has_ended)
        return session_id


def write_deck(folder: Path, *turns: Turn, **telemetry: Any) -> None:
    write_config(folder, turns=turns)
    path = folder / "midwatch.yaml"
    config: dict[str, Any] = json.decode(path.read_bytes())
    config["mcp_servers"]["deck"]["kinds"] = {"read": ["echo"]}
    path.write_text(json.encode_text({**config, "telemetry": {"traces": telemetry}}), encoding="utf-8")


@pytest.fixture
async def sent(tmp_path: Path, dsn: str) -> tuple[str, OtlpCollector]:
    write_deck(tmp_path, *TURNS)
    with collecting() as collector:
        environ = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.endpoint, "OTEL_SERVICE_NAME": "night-watch"}
        return await investigate(tmp_path, dsn, environ=environ), collector


def parent_of(span: ReceivedSpan, collector: OtlpCollector) -> ReceivedSpan:
    (parent,) = [each for each in collector.spans if each.span_id == span.parent_id]
    return parent


async def test_spans_stand_within_each_other_from_the_session_to_its_calls(sent: tuple[str, OtlpCollector]) -> None:
    session_id, collector = sent
    assert set(collector.paths) == {"/v1/traces"}
    (root,) = collector.named("investigate deck")
    assert UUID(root.trace_id) == UUID(session_id)
    assert not root.parent_id
    assert not root.links
    assert root.resource["service.name"] == "night-watch"
    assert root.resource["service.instance.id"] == "pod-7"
    assert root.attributes["gen_ai.conversation.id"] == session_id
    assert root.attributes["midwatch.status"] == "completed"
    (stage,) = collector.named("stage watch")
    (agent,) = collector.named("invoke_agent Mate")
    assert parent_of(stage, collector) == root
    assert parent_of(agent, collector) == stage
    spoken = [span for span in collector.named("chat") if parent_of(span, collector) == agent]
    assert len(spoken) == len(TURNS)
    assert {parent_of(span, collector).name for span in collector.named("execute_tool")} == {"invoke_agent Mate"}
    assert {span.trace_id for span in collector.spans} == {root.trace_id}


async def test_calls_are_told_in_the_words_of_the_convention(sent: tuple[str, OtlpCollector]) -> None:
    _, collector = sent
    first = collector.named("chat scripted")[0]
    assert first.attributes["gen_ai.operation.name"] == "chat"
    assert first.attributes["gen_ai.provider.name"] == "scripted"
    assert first.attributes["gen_ai.request.model"] == "scripted"
    assert first.attributes["gen_ai.usage.input_tokens"] == 10
    assert first.attributes["gen_ai.usage.output_tokens"] == 2
    echo, restart, made_up = collector.named("execute_tool")
    assert echo.name == "execute_tool deck.echo"
    assert echo.attributes["gen_ai.operation.name"] == "execute_tool"
    assert echo.attributes["gen_ai.tool.name"] == "deck.echo"
    assert UUID(echo.attributes["gen_ai.tool.call.id"])
    assert echo.failed is None
    assert (restart.name, restart.failed) == ("execute_tool deck.restart", "READ_ONLY_VIOLATION")
    assert (made_up.name, made_up.failed) == ("execute_tool", "TOOL_NOT_FOUND")


async def test_nothing_that_anybody_wrote_is_sent_unless_it_is_asked_for(sent: tuple[str, OtlpCollector]) -> None:
    _, collector = sent
    everything = b"".join(collector.bodies)
    for word in (b"canary", b"I look.", b"I should look.", b"The deck is dry.", b"In short", b"an agent of Midwatch"):
        assert word not in everything


async def test_content_is_sent_when_it_is_asked_for_and_masked(tmp_path: Path, dsn: str) -> None:
    secret = "AKIA" + "IOSFODNN7EXAMPLE"
    with collecting() as collector:
        write_deck(tmp_path, call("echo", text=f"key {secret}"), CONCLUSION, endpoint=collector.endpoint, content=True)
        await investigate(tmp_path, dsn, environ={})
    (echo,) = collector.named("execute_tool")
    assert "[MASKED" in echo.attributes["gen_ai.tool.call.arguments"]
    assert "[MASKED" in echo.attributes["gen_ai.tool.call.result"]
    first, second, _ = collector.named("chat")
    asked = json.decode(first.attributes["gen_ai.input.messages"].encode())
    assert [message["role"] for message in asked] == ["system", "user"]
    assert ALERT in asked[1]["parts"][0]["content"]
    (answered,) = json.decode(second.attributes["gen_ai.output.messages"].encode())
    assert answered == {"role": "assistant", "parts": [{"type": "text", "content": "The deck is dry."}]}
    assert secret.encode() not in b"".join(collector.bodies)


async def test_without_an_address_nobody_hears_of_anything(tmp_path: Path, dsn: str) -> None:
    with collecting() as collector:
        write_deck(tmp_path, CONCLUSION)
        await investigate(tmp_path, dsn, environ={})
        environ = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.endpoint, "OTEL_SDK_DISABLED": "true"}
        await investigate(tmp_path, dsn, environ=environ)
    assert collector.bodies == []


async def test_a_share_of_nothing_is_nothing(tmp_path: Path, dsn: str) -> None:
    with collecting() as collector:
        write_deck(tmp_path, CONCLUSION, endpoint=collector.endpoint, share=0)
        await investigate(tmp_path, dsn, environ={})
    assert collector.spans == []


async def test_a_collector_that_is_not_there_holds_nothing_up(tmp_path: Path, dsn: str) -> None:
    write_deck(tmp_path, CONCLUSION, endpoint="http://127.0.0.1:9")
    assert await investigate(tmp_path, dsn, environ={})
