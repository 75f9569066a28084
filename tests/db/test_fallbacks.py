"""A run whose provider gives way: a standby takes over, the first one is remembered, and a successor stays with it."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from midwatch.config.agents import FallbackProvider
from midwatch.config.defaults import Defaults
from midwatch.config.llm import OpenAiProvider
from midwatch.domain.session import SessionStatus
from midwatch.llm.scripted import ScriptedCall, ScriptedTurn
from midwatch.store.driver import Row
from midwatch.store.engine import Store
from tests.fakes.cutting_pool import Harm
from tests.fakes.llm_service import serve_models
from tests.fakes.openai_server import SUMMARY, Answer, Body, Reply, Status, count_turns
from tests.invariants import check_end
from tests.lives import World, open_world

LOCKED = Status(status=401, body=b'{"error": {"message": "no such key"}}')
LOOKING = ScriptedTurn(calls=(ScriptedCall(name="deck.echo", arguments={"text": "a"}),))
DONE = ScriptedTurn(text="The pump ran dry.")


def locked_first(*turns: ScriptedTurn) -> Answer:
    def answer(body: Body) -> Reply:
        return LOCKED if body["model"] == "model" else turns[count_turns(body)]

    return answer


def with_standby(world: World) -> World:
    (first,) = world.config.providers.values()
    assert isinstance(first, OpenAiProvider)
    providers = {"model": first, "spare": first.model_copy(update={"model": "spare-model"})}
    defaults = Defaults(fallback_providers=(FallbackProvider(provider="spare", backend="langchain"),))
    return replace(world, config=replace(world.config, providers=providers, defaults=defaults))


async def read_execution(store: Store, session_id: UUID) -> Row:
    async with store.connect() as tx:
        row = await tx.fetchrow(
            "SELECT llm_provider, model_name, original_llm_provider, original_model_name, fallback_error_code, "
            "fallback_attempt FROM agent_executions JOIN stages USING (stage_id) "
            "WHERE stages.session_id = $1 AND stage_type = 'investigation'",
            session_id,
        )
    assert row is not None
    return row


async def read_timeline(store: Store, session_id: UUID) -> list[tuple[str, str]]:
    async with store.connect() as tx:
        rows = await tx.fetch(
            "SELECT e.event_type, t.content FROM timeline_events e "
            "LEFT JOIN texts t ON t.session_id = e.session_id AND t.text_id = e.text_id "
            "WHERE e.session_id = $1 AND e.event_type IN ('provider_fallback', 'provider_retry', 'error', "
            "'final_analysis') ORDER BY e.sequence_number",
            session_id,
        )
    return [(row["event_type"], row["content"]) for row in rows]


SWITCHED: dict[str, Any] = {
    "llm_provider": "spare",
    "model_name": "spare-model",
    "original_llm_provider": "model",
    "original_model_name": "model",
    "fallback_error_code": "credentials",
    "fallback_attempt": 1,
}


@asynccontextmanager
async def over(world: World, transport: str) -> AsyncGenerator[World]:
    if transport == "here":
        yield world
        return
    async with serve_models(world.http, world.model.base_url, environ={}) as service:
        yield replace(world, remote=service.client)


@pytest.mark.usefixtures("one_loop")
@pytest.mark.parametrize("transport", ["here", "grpc"])
async def test_a_standby_takes_over_and_the_first_provider_is_remembered(
    store: Store, tmp_path: Path, transport: str
) -> None:
    async with (
        open_world(store, tmp_path / "effects", locked_first(LOOKING, DONE)) as plain,
        over(with_standby(plain), transport) as world,
    ):
        session_id = await world.submit()
        await world.live_on(session_id)
    assert await world.status(session_id) is SessionStatus.COMPLETED
    assert dict(await read_execution(store, session_id)) == SWITCHED
    assert await read_timeline(store, session_id) == [
        ("provider_retry", "HTTP 401: no such key"),
        ("provider_fallback", "model gave way to spare: HTTP 401: no such key"),
        ("final_analysis", "The pump ran dry."),
        ("final_analysis", SUMMARY.text),
    ]
    async with store.connect() as tx:
        asked = await tx.fetch(
            "SELECT llm_provider, error_message IS NOT NULL AS failed FROM llm_interactions "
            "WHERE session_id = $1 ORDER BY interaction_id",
            session_id,
        )
    # Whoever sums it up begins with the first one again.
    assert [tuple(row) for row in asked] == [("model", True), ("spare", False), ("spare", False), ("model", False)]


async def test_whoever_takes_the_session_over_goes_on_with_the_standby(store: Store, tmp_path: Path) -> None:
    async with open_world(store, tmp_path / "effects", locked_first(LOOKING, DONE)) as plain:
        world = with_standby(plain)
        for cut in range(1, 12):
            session_id = await world.submit()
            await world.live_on(session_id, [{cut: Harm.DIE_AFTER}])
            assert await world.status(session_id) is SessionStatus.COMPLETED
            assert dict(await read_execution(store, session_id)) == SWITCHED
            async with store.connect() as tx:
                await check_end(tx, session_id)
        locked = [received for received in world.model.requests if received.body["model"] == "model"]
    # Who died before the change was committed asks the first one again; nobody does after it.
    assert 11 <= len(locked) < 22
