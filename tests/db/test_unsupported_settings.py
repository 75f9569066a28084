"""What the configuration allows and this version cannot do fails the session in plain words."""

from dataclasses import replace
from pathlib import Path

from midwatch.config.llm import VertexAiProvider
from midwatch.domain.session import SessionStatus
from midwatch.llm.scripted import ScriptedTurn
from midwatch.store.driver import Row
from midwatch.store.engine import Store
from tests.fakes.openai_server import by_turn
from tests.lives import World, open_world

ANSWER = by_turn([ScriptedTurn(text="The pump ran dry.")])


async def run_to_end(world: World) -> Row:
    session_id = await world.submit()
    await world.live_on(session_id)
    async with world.store.connect() as tx:
        return await tx.fetchrow(
            "SELECT s.status, g.error_message AS stage_error, e.status AS agent_status, e.llm_provider, e.model_name "
            "FROM alert_sessions s JOIN stages g USING (session_id) JOIN agent_executions e USING (stage_id) "
            "WHERE s.session_id = $1",
            session_id,
        )


async def test_a_provider_that_cannot_be_opened_fails_the_execution(clean_store: Store, tmp_path: Path) -> None:
    async with open_world(clean_store, tmp_path / "effects", ANSWER) as world:
        providers = {"model": VertexAiProvider(type="vertexai", model="gemini")}
        row = await run_to_end(replace(world, config=replace(world.config, providers=providers)))
    assert row["status"] == SessionStatus.FAILED
    told = "provider model: variable GOOGLE_CLOUD_PROJECT is not set: no project on Google Cloud"
    assert row["stage_error"] == told
    assert (row["agent_status"], row["llm_provider"], row["model_name"]) == (
        "failed",
        "model",
        "gemini",
    )
