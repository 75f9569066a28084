"""What the configuration allows and this version cannot do fails the session in plain words."""

from dataclasses import replace
from pathlib import Path

import pytest

from midwatch.config.chains import Stage, StageAgent
from midwatch.config.llm import VertexAiProvider
from midwatch.domain.session import SessionStatus
from midwatch.llm.scripted import ScriptedTurn
from midwatch.store.driver import Row
from midwatch.store.engine import Store
from tests.fakes.openai_server import by_turn
from tests.lives import World, open_world

WATCH = StageAgent(name="watch", llm_provider="model")
ANSWER = by_turn([ScriptedTurn(text="The pump ran dry.")])


async def run_to_end(world: World) -> Row:
    session_id = await world.submit()
    await world.live_on(session_id)
    async with world.store.connect() as tx:
        return await tx.fetchrow(
            "SELECT s.status, s.error_message, g.status AS stage_status, g.error_message AS stage_error "
            "FROM alert_sessions s JOIN stages g USING (session_id) WHERE session_id = $1",
            session_id,
        )


@pytest.mark.parametrize(
    ("stage", "agents"),
    [
        (Stage(name="look", agents=(WATCH, WATCH, WATCH)), 3),
        (Stage(name="look", agents=(WATCH,), replicas=2), 2),
    ],
)
async def test_a_stage_of_several_agents_fails_instead_of_running_one(
    clean_store: Store, tmp_path: Path, stage: Stage, agents: int
) -> None:
    async with open_world(clean_store, tmp_path / "effects", ANSWER, stages=[stage]) as world:
        row = await run_to_end(world)
        assert world.model.requests == []
    told = f"stage look has {agents} agents; this version runs one agent per stage"
    assert (row["status"], row["stage_status"], row["stage_error"]) == (SessionStatus.FAILED, "failed", told)
    assert row["error_message"].endswith(told)


@pytest.mark.parametrize("replicas", [0, 1])
async def test_a_stage_of_one_agent_runs(clean_store: Store, tmp_path: Path, replicas: int) -> None:
    stage = Stage(name="look", agents=(WATCH,), replicas=replicas)
    async with open_world(clean_store, tmp_path / "effects", ANSWER, stages=[stage]) as world:
        assert (await run_to_end(world))["status"] == SessionStatus.COMPLETED


async def test_a_provider_that_cannot_be_opened_fails_the_execution(clean_store: Store, tmp_path: Path) -> None:
    async with open_world(clean_store, tmp_path / "effects", ANSWER) as world:
        providers = {"model": VertexAiProvider(type="vertexai", model="gemini")}
        row = await run_to_end(replace(world, config=replace(world.config, providers=providers)))
    assert row["status"] == SessionStatus.FAILED
    told = "provider model: variable GOOGLE_CLOUD_PROJECT is not set: no project on Google Cloud"
    assert row["stage_error"] == told
