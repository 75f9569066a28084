"""A world whose tool answers at length, with a model of its own that sums up."""

import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

from midwatch.config.agents import FallbackProvider
from midwatch.config.chains import Stage
from midwatch.config.defaults import Defaults, DefaultSummarization
from midwatch.config.llm import OpenAiProvider
from midwatch.config.mcp import Kinds, Summarization
from midwatch.kit import json
from midwatch.llm.scripted import ScriptedCall, ScriptedTurn
from midwatch.store.driver import Row
from midwatch.store.engine import Store
from tests.fakes.openai_server import Answer, from_script
from tests.lives import SERVER, World, open_world

KINDS = Kinds(read=("echo", "fail", "big", "report", "secret"), write=("restart",))
SHORTENER = "short"
"""The provider and the model that sums up."""
NAME = re.compile(r"\br[0-9a-f]{8}\b")
"""Of a stored result."""


def call(tool: str, **arguments: Any) -> ScriptedCall:
    return ScriptedCall(name=tool if "." in tool else f"deck.{tool}", arguments=arguments)


@asynccontextmanager
async def open_long_world(
    store: Store,
    folder: Path,
    script: dict[str, list[ScriptedTurn]] | Answer,
    *,
    stages: Sequence[Stage] = (),
    summarization: Summarization | None = None,
    fallbacks: Sequence[str] = (),
) -> AsyncGenerator[World]:
    answer = script if callable(script) else from_script(script)
    async with open_world(store, folder / "effects", answer, stages=stages) as world:
        server = world.config.mcp_servers[SERVER].model_copy(
            update={"kinds": KINDS, "summarization": summarization or Summarization()}
        )
        more = {
            name: OpenAiProvider(type="openai", model=name, base_url=world.model.base_url)
            for name in (SHORTENER, *fallbacks)
        }
        defaults = Defaults(
            summarization=DefaultSummarization(llm_provider=SHORTENER),
            fallback_providers=tuple(FallbackProvider(provider=name, backend="langchain") for name in fallbacks),
        )
        config = replace(
            world.config,
            mcp_servers={SERVER: server},
            providers={**world.config.providers, **more},
            defaults=defaults,
        )
        yield replace(world, config=config, backoff=())


async def run(world: World) -> UUID:
    session_id = await world.submit()
    await world.live_on(session_id)
    return session_id


async def fetch(store: Store, query: str, *args: object) -> Sequence[Row]:
    async with store.connect() as tx:
        return await tx.fetch(query, *args)


async def read_answers(store: Store, session_id: UUID) -> list[str]:
    """What the model read of its calls, in order."""
    rows = await fetch(
        store,
        "SELECT t.content FROM messages m JOIN agent_executions e USING (execution_id) JOIN stages s ON "
        "s.stage_id = e.stage_id JOIN texts t ON t.session_id = m.session_id AND t.text_id = m.text_id "
        "WHERE m.session_id = $1 AND m.role = 'tool' ORDER BY s.stage_index, e.agent_index, m.sequence_number",
        session_id,
    )
    return [row["content"] for row in rows]


async def read_entries(store: Store, session_id: UUID, kind: str) -> list[dict[str, Any]]:
    rows = await fetch(
        store,
        "SELECT e.status, e.metadata, e.llm_interaction_id, t.content FROM timeline_events e LEFT JOIN texts t ON "
        "t.session_id = e.session_id AND t.text_id = e.text_id WHERE e.session_id = $1 AND e.event_type = $2 "
        "ORDER BY e.sequence_number",
        session_id,
        kind,
    )
    return [dict(row) | {"metadata": json.decode(row["metadata"] or "{}")} for row in rows]


def find_name(text: str) -> str:
    found = NAME.search(text)
    assert found is not None, text[:500]
    return found.group()
