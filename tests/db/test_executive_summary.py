"""A session that completes is summed up in a few lines; it stands without them too."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from midwatch.domain.errors import ModelUnavailable
from midwatch.llm.scripted import ScriptedTurn
from midwatch.store.driver import Row
from midwatch.store.engine import Store
from tests.fakes.openai_server import SUMMARY, Status, Stream, by_turn
from tests.invariants import check_session
from tests.lives import World, open_world, stage

ANSWER = by_turn([ScriptedTurn(text="The pump ran dry, because the valve was shut.")])


async def run(world: World) -> Row:
    session_id = await world.submit()
    await world.live_on(session_id)
    async with world.store.connect() as tx:
        await check_session(tx, session_id, world.effects())
        row = await tx.fetchrow(
            "SELECT s.*, t.content AS analysis, x.content AS summary, g.status AS stage_status, g.stage_index, "
            "       e.agent_name, e.llm_provider FROM alert_sessions s "
            "LEFT JOIN texts t ON t.session_id = s.session_id AND t.text_id = s.final_analysis_text_id "
            "LEFT JOIN texts x ON x.session_id = s.session_id AND x.text_id = s.executive_summary_text_id "
            "LEFT JOIN stages g ON g.session_id = s.session_id AND g.stage_type = 'exec_summary' "
            "LEFT JOIN agent_executions e ON e.stage_id = g.stage_id WHERE s.session_id = $1",
            session_id,
        )
    assert row is not None
    return row


async def test_a_completed_session_is_summed_up_and_keeps_its_analysis(clean_store: Store, tmp_path: Path) -> None:
    async with open_world(clean_store, tmp_path / "effects", ANSWER) as world:
        row = await run(world)
        (question,) = world.model.summaries
    assert (row["status"], row["summary"], row["executive_summary_error"]) == ("completed", SUMMARY.text, None)
    assert row["analysis"] == "The pump ran dry, because the valve was shut."
    assert (row["stage_index"], row["stage_status"], row["agent_name"]) == (2, "completed", "ExecSummaryAgent")
    assert row["analysis"] in question.body["messages"][1]["content"]
    assert "tools" not in question.body


async def test_a_summary_that_fails_leaves_the_session_complete_and_says_why(
    clean_store: Store, tmp_path: Path
) -> None:
    async with open_world(clean_store, tmp_path / "effects", ANSWER) as world:
        world.model.summary = Status(status=401, body=b'{"error": {"message": "no key"}}')
        row = await run(world)
    assert (row["status"], row["error_message"]) == ("completed", None)
    assert (row["summary"], row["executive_summary_error"]) == (None, "HTTP 401: no key")
    assert row["stage_status"] == "failed"
    assert row["analysis"] is not None


async def test_a_session_that_fails_is_not_summed_up(clean_store: Store, tmp_path: Path) -> None:
    refused = by_turn([ScriptedTurn(error=ModelUnavailable("no key", code="credentials", retryable=False))])
    async with open_world(clean_store, tmp_path / "effects", refused) as world:
        row = await run(world)
        assert world.model.summaries == []
    assert (row["status"], row["stage_status"], row["executive_summary_error"]) == ("failed", None, None)


async def test_a_summary_is_asked_of_the_provider_that_the_chain_names_for_it(
    clean_store: Store, tmp_path: Path
) -> None:
    stages = (stage("look", model="first"), stage("act", model="second"))
    async with open_world(clean_store, tmp_path / "effects", ANSWER, stages=stages) as world:
        (chain,) = world.config.chains.values()
        named = {"chain": chain.model_copy(update={"executive_summary_provider": "second"})}
        assert (await run(world))["llm_provider"] == "first"
        assert (await run(replace(world, config=replace(world.config, chains=named))))["llm_provider"] == "second"


async def test_want_of_time_costs_the_summary_and_not_the_investigation(clean_store: Store, tmp_path: Path) -> None:
    async with open_world(clean_store, tmp_path / "effects", ANSWER) as world:
        world.model.summary = Stream([asyncio.Event()])
        queue = world.config.queue.model_copy(update={"session_timeout": timedelta(seconds=5)})
        row = await run(replace(world, config=replace(world.config, queue=queue)))
    assert (row["status"], row["stage_status"]) == ("completed", "timed_out")
    assert row["executive_summary_error"].startswith("not done within ")
    assert row["analysis"] is not None
