"""The models of an execution: what is known of each, and which of them can stand in."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from midwatch.config.llm import PROVIDER_SHAPES, Provider
from midwatch.config.resolve import ExecutionSettings, ModelChoice
from midwatch.domain.messages import UserMessage
from midwatch.domain.safety import ControlLevel, SafetyMode
from midwatch.domain.tools import ToolDefinition
from midwatch.investigation.models import open_ladder
from midwatch.llm.gateway import Gateway
from midwatch.llm.ladder import Ladder
from midwatch.llm.model import ModelRequest, NoticeChunk
from midwatch.llm.prices import Prices
from midwatch.llm.scripted import ScriptedTurn
from tests.fakes.gemini_server import serve
from tests.fakes.provider_server import in_order
from tests.fakes.toolset import define_tool


def provider(kind: str, model: str, **fields: Any) -> Provider:
    return PROVIDER_SHAPES[kind].model_validate({"type": kind, "model": model, **fields})


def settle(chosen: Provider, *fallbacks: Provider, **settings: Any) -> ExecutionSettings:
    plain = ExecutionSettings(
        agent="Mate",
        custom_instructions="",
        provider_name="chosen",
        provider=chosen,
        max_iterations=20,
        servers=(),
        server_instructions={},
        control_level=ControlLevel.READ_ONLY,
        safety_mode=SafetyMode.ENFORCE,
        fallbacks=tuple(
            ModelChoice(provider_name=f"standby-{number}", provider=fallback, backend="langchain")
            for number, fallback in enumerate(fallbacks)
        ),
    )
    return replace(plain, **settings)


async def climb(settings: ExecutionSettings) -> Ladder:
    async with httpx.AsyncClient() as http:
        gateway = Gateway(http=http, environ={}, folder=Path())
        return await open_ladder(settings, gateway=gateway, prices=Prices(), start=None)


async def test_a_window_that_was_configured_goes_before_what_is_known_of_the_model() -> None:
    chosen = provider("anthropic", "claude-sonnet-5", context_window=5_000)
    known, unknown = provider("anthropic", "claude-sonnet-5"), provider("openai", "mine", base_url="http://here/v1")
    ladder = await climb(settle(chosen, known, unknown, unknown.model_copy(update={"context_window": 8_000})))
    first, second, third = ladder.standbys
    assert ladder.window == 5_000
    assert first.window is not None
    assert first.window > 100_000
    assert (second.window, third.window) == (None, 8_000)


@pytest.mark.parametrize(
    ("settings", "standbys"),
    [
        ({}, ["standby-0", "standby-1"]),
        ({"needs_native_tools": True}, ["standby-1"]),
        ({"needs_native_tools": True, "servers": ("deck",)}, ["standby-0", "standby-1"]),
        ({"needs_native_tools": True, "native_tools": frozenset[str]()}, ["standby-0", "standby-1"]),
    ],
)
async def test_only_an_agent_that_asked_for_native_tools_and_has_no_others_stays_with_google(
    settings: dict[str, Any], standbys: list[str]
) -> None:
    gemini = provider("google", "gemini-2.5-pro")
    found = {"native_tools": frozenset({"google_search"}), **settings}
    ladder = await climb(settle(gemini, provider("openai", "gpt-5.2"), gemini, **found))
    assert [rung.provider for rung in ladder.standbys] == standbys


@pytest.mark.parametrize(
    ("settings", "notices"),
    [({}, list[str]()), ({"needs_native_tools": True}, ["native_tools_suppressed"])],
)
async def test_native_tools_that_nobody_asked_for_are_not_missed_beside_a_servers_tools(
    settings: dict[str, bool], notices: list[str]
) -> None:
    async with serve(in_order([ScriptedTurn(text="Dry.")])) as server, httpx.AsyncClient() as http:
        settled = settle(
            provider("google", "gemini-2.5-pro", base_url=server.base_url),
            native_tools=frozenset({"google_search"}),
            servers=("deck",),
            **settings,
        )
        gateway = Gateway(http=http, environ={}, folder=Path())
        ladder = await open_ladder(settled, gateway=gateway, prices=Prices(), start=None)
        tools: tuple[ToolDefinition, ...] = (define_tool("deck.echo"),)
        request = ModelRequest(messages=(UserMessage(text="go"),), tools=tools, agent="Mate")
        chunks = [chunk async for chunk in ladder.current.stream(request)]
    assert [chunk.code for chunk in chunks if isinstance(chunk, NoticeChunk)] == notices
