"""What agents did is told once each, in order, with what they have read of every call."""

from pathlib import Path

from midwatch.config.chains import Stage, StageAgent, Synthesis
from midwatch.domain.errors import ModelUnavailable
from midwatch.domain.session import WorkStatus
from midwatch.domain.stories import AgentStory, Called, Failed, Said, StageStory, Thought
from midwatch.kit.ids import new_id
from midwatch.llm.scripted import ScriptedCall, ScriptedTurn
from midwatch.store.engine import Store
from midwatch.store.stories import load_deeds, load_stage_story, load_stories
from tests.fakes.openai_server import from_script
from tests.lives import World, open_world, stage

SCRIPT = {
    "left": [
        ScriptedTurn(
            thinking="Left first.",
            text="I look left.",
            calls=(
                ScriptedCall(name="deck.echo", arguments={"text": "dry"}),
                ScriptedCall(name="deck.nothing", arguments={}),
            ),
        ),
        ScriptedTurn(thinking="Enough.", text="Left is dry."),
    ],
    "broken": [
        ScriptedTurn(text="I begin.", calls=(ScriptedCall(name="deck.echo", arguments={"text": "wet"}),)),
        ScriptedTurn(error=ModelUnavailable("no key", code="credentials", retryable=False)),
    ],
    "joiner": [ScriptedTurn(text="One side is dry.")],
    "last": [ScriptedTurn(text="It is settled.")],
}
STAGES = (
    Stage(
        name="look",
        agents=tuple(StageAgent(name="watch", llm_provider=model) for model in ("left", "broken")),
        synthesis=Synthesis(llm_provider="joiner"),
    ),
    stage("act", model="last"),
)


async def run(world: World) -> None:
    await world.live_on(await world.submit())


async def test_every_deed_of_every_agent_is_told_once_and_in_order(clean_store: Store, tmp_path: Path) -> None:
    async with open_world(clean_store, tmp_path / "effects", from_script(SCRIPT), stages=STAGES) as world:
        await run(world)
    async with clean_store.connect() as tx:
        row = await tx.fetchrow("SELECT session_id, stage_id FROM stages WHERE stage_index = 1")
        assert row is not None
        session_id, stage_id = row["session_id"], row["stage_id"]
        look, act = await load_stories(tx, session_id)
        alone = await load_stage_story(tx, session_id, stage_id)
    left, broken = look.agents
    refusal = left.deeds[3]
    assert isinstance(refusal, Called)
    assert (refusal.tool, refusal.is_error) == ("deck.nothing", True)
    assert left == AgentStory(
        agent="watch",
        status=WorkStatus.COMPLETED,
        deeds=(
            Thought(text="Left first."),
            Said(text="I look left."),
            Called(tool="deck.echo", arguments='{"text":"dry"}', result="dry"),
            refusal,
            Thought(text="Enough."),
        ),
        analysis="Left is dry.",
        error=None,
        provider="left",
        model="left",
    )
    assert (broken.status, broken.analysis, broken.error) == (WorkStatus.FAILED, None, "HTTP 401: no key")
    assert broken.deeds == (Said(text="I begin."), Called(tool="deck.echo", arguments='{"text":"wet"}', result="wet"))
    assert (look.name, look.status, look.synthesis) == ("look", WorkStatus.COMPLETED, "One side is dry.")
    assert alone == StageStory(name="look", status=WorkStatus.COMPLETED, agents=look.agents)
    assert [(agent.deeds, agent.analysis) for agent in act.agents] == [((), "It is settled.")]


async def test_a_call_that_was_summed_up_is_told_by_its_summary_alone(clean_store: Store, tmp_path: Path) -> None:
    async with open_world(clean_store, tmp_path / "effects", from_script(SCRIPT), stages=STAGES[1:]) as world:
        script = {"last": SCRIPT["left"]}
        world.model.answer = from_script(script)
        await run(world)
    async with clean_store.begin() as tx:
        session_id = await tx.fetchval("SELECT session_id FROM alert_sessions")
        summary = new_id()
        await tx.execute("INSERT INTO texts VALUES ($1, $2, 'all dry, in short')", session_id, summary)
        await tx.execute(
            "UPDATE messages m SET text_id = $1 FROM tool_calls c WHERE c.execution_id = m.execution_id "
            "AND m.sequence_number = c.message_sequence + 1 + c.call_index AND c.tool_name = 'deck.echo'",
            summary,
        )
        (story,) = await load_stories(tx, session_id)
    calls = [deed for deed in story.agents[0].deeds if isinstance(deed, Called) and deed.tool == "deck.echo"]
    assert calls == [Called(tool="deck.echo", arguments='{"text":"dry"}', result="all dry, in short", is_summary=True)]


async def test_a_call_without_a_result_and_an_error_of_its_own_are_told_as_such(
    clean_store: Store, tmp_path: Path
) -> None:
    async with open_world(clean_store, tmp_path / "effects", from_script(SCRIPT), stages=STAGES[:1]) as world:
        await run(world)
    async with clean_store.begin() as tx:
        await tx.execute("UPDATE agent_executions SET error_message = 'cancelled by a person' WHERE status = 'failed'")
        await tx.execute("DELETE FROM messages WHERE role = 'tool'")
        row = await tx.fetchrow("SELECT session_id, execution_id FROM agent_executions WHERE status = 'failed'")
        assert row is not None
        deeds = await load_deeds(tx, row["session_id"], [row["execution_id"]])
    assert deeds[row["execution_id"]] == (
        Said(text="I begin."),
        Called(tool="deck.echo", arguments='{"text":"wet"}', result="(no result: the agent ended before one came)"),
        Failed(text="HTTP 401: no key"),
    )
