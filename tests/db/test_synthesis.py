"""Several analyses are made one, which takes their place from then on."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from midwatch.config.agents import Agent
from midwatch.config.chains import Stage, StageAgent, Synthesis
from midwatch.domain.errors import ModelUnavailable
from midwatch.llm.scripted import ScriptedCall, ScriptedTurn
from midwatch.store.driver import Row
from midwatch.store.engine import Store
from tests.fakes.openai_server import from_script
from tests.invariants import check_session
from tests.lives import World, open_world, stage

NO_KEY = ScriptedTurn(error=ModelUnavailable("no key", code="credentials", retryable=False))
SCRIPT: Mapping[str, Sequence[ScriptedTurn]] = {
    "left": [
        ScriptedTurn(
            thinking="Left first.",
            text="I look left.",
            calls=(
                ScriptedCall(name="deck.echo", arguments={"text": "the left is dry"}),
                ScriptedCall(name="deck.fail", arguments={"message": "no such valve"}),
            ),
        ),
        ScriptedTurn(text="Left is dry."),
    ],
    "right": [ScriptedTurn(text="Right is wet.")],
    "broken": [NO_KEY],
    "joiner": [ScriptedTurn(thinking="Both count.", text="One side is dry.")],
    "last": [ScriptedTurn(text="It is settled.")],
}


def crew(*models: str, synthesis: Synthesis | None = None) -> Stage:
    agents = tuple(StageAgent(name="watch", llm_provider=model) for model in models)
    return Stage(name="look", agents=agents, synthesis=synthesis or Synthesis(llm_provider="joiner"))


async def run(world: World) -> Row:
    session_id = await world.submit()
    await world.live_on(session_id)
    async with world.store.connect() as tx:
        await check_session(tx, session_id, world.effects())
        row = await tx.fetchrow(
            "SELECT s.*, t.content AS analysis FROM alert_sessions s LEFT JOIN texts t "
            "ON t.session_id = s.session_id AND t.text_id = s.final_analysis_text_id WHERE s.session_id = $1",
            session_id,
        )
    assert row is not None
    return row


def asked(world: World, model: str) -> list[dict[str, Any]]:
    return [request.body for request in world.model.requests if request.body["model"] == model]


async def read_stages(world: World) -> list[dict[str, Any]]:
    async with world.store.connect() as tx:
        return [dict(row) for row in await tx.fetch("SELECT * FROM stages ORDER BY stage_index")]


async def test_a_synthesis_reads_how_each_agent_came_to_its_analysis(clean_store: Store, tmp_path: Path) -> None:
    async with open_world(
        clean_store, tmp_path / "effects", from_script(SCRIPT), stages=[crew("left", "right", "broken")]
    ) as world:
        session = await run(world)
        (question,) = asked(world, "joiner")
    system, user = (message["content"] for message in question["messages"])
    assert session["analysis"] == "One side is dry."
    assert "You are SynthesisAgent" in system
    assert "Trust what rests on tool output" in system
    assert "tools" not in question
    for told in (
        "2/3 agents succeeded",
        "The pump is hot.",
        "Left first.",
        "I look left.",
        "deck.echo",
        "the left is dry",
        "no such valve",
        "Left is dry.",
        "Right is wet.",
        "HTTP 401: no key",
    ):
        assert user.count(told) >= 1, told
    assert user.count("Left is dry.") == 1


async def test_a_synthesis_is_a_stage_that_names_the_one_it_is_about(clean_store: Store, tmp_path: Path) -> None:
    stages = [crew("left", "right"), stage("act", model="last")]
    async with open_world(clean_store, tmp_path / "effects", from_script(SCRIPT), stages=stages) as world:
        await run(world)
        rows = await read_stages(world)
        async with clean_store.connect() as tx:
            told = await tx.fetch(
                "SELECT payload->>'stage_name' AS name, payload->>'referenced_stage_id' AS about FROM events "
                "WHERE type = 'stage.status' AND payload->>'stage_type' = 'synthesis'"
            )
            kinds = await tx.fetch("SELECT DISTINCT interaction_type FROM llm_interactions ORDER BY 1")
    assert [(row["stage_index"], row["stage_name"], row["stage_type"]) for row in rows] == [
        (1, "look", "investigation"),
        (2, "look - Synthesis", "synthesis"),
        (3, "act", "investigation"),
        (4, "Executive Summary", "exec_summary"),
    ]
    assert [row["referenced_stage_id"] for row in rows] == [None, rows[0]["stage_id"], None, None]
    assert [(row["name"], row["about"]) for row in told] == [("look - Synthesis", str(rows[0]["stage_id"]))] * 2
    assert [row["interaction_type"] for row in kinds] == ["executive_summary", "iteration", "synthesis"]


async def test_later_stages_read_the_synthesis_and_not_what_it_was_made_of(clean_store: Store, tmp_path: Path) -> None:
    stages = [crew("left", "right"), stage("act", model="last")]
    async with open_world(clean_store, tmp_path / "effects", from_script(SCRIPT), stages=stages) as world:
        session = await run(world)
        (question,) = asked(world, "last")
    told = question["messages"][1]["content"]
    assert "One side is dry." in told
    assert "Right is wet." not in told
    assert session["analysis"] == "It is settled."


async def test_a_synthesis_that_fails_fails_the_session(clean_store: Store, tmp_path: Path) -> None:
    stages = [crew("left", "right", synthesis=Synthesis(llm_provider="broken")), stage("act", model="last")]
    async with open_world(clean_store, tmp_path / "effects", from_script(SCRIPT), stages=stages) as world:
        session = await run(world)
        rows = await read_stages(world)
        assert asked(world, "last") == []
    assert session["status"] == "failed"
    assert session["error_message"] == "stage 2 (look - Synthesis) failed: HTTP 401: no key"
    assert [row["status"] for row in rows] == ["completed", "failed"]


async def test_a_synthesis_may_have_an_agent_of_its_own(clean_store: Store, tmp_path: Path) -> None:
    synthesis = Synthesis(agent="Judge", llm_provider="joiner")
    async with open_world(
        clean_store, tmp_path / "effects", from_script(SCRIPT), stages=[crew("left", "right", synthesis=synthesis)]
    ) as world:
        judge = Agent(custom_instructions="Weigh twice.", mcp_servers=("deck",))
        await run(replace(world, config=replace(world.config, agents={**world.config.agents, "Judge": judge})))
        (question,) = asked(world, "joiner")
    assert "Weigh twice." in question["messages"][0]["content"]
    assert "tools" not in question


@pytest.mark.parametrize("empty", [1, 2])
async def test_whoever_synthesises_is_asked_again_when_it_says_nothing(
    clean_store: Store, tmp_path: Path, empty: int
) -> None:
    calls = (ScriptedCall(name="deck.echo", arguments={"text": "never"}),)
    script = {**SCRIPT, "joiner": [*[ScriptedTurn(calls=calls)] * empty, ScriptedTurn(text="One side is dry.")]}
    async with open_world(
        clean_store, tmp_path / "effects", from_script(script), stages=[crew("left", "right")]
    ) as world:
        session = await run(world)
        assert len(asked(world, "joiner")) == empty + 1
    assert session["analysis"] == "One side is dry."
