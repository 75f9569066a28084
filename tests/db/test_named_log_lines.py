"""A line of the log says which session, agent and call it is about."""

from pathlib import Path

from structlog.contextvars import bound_contextvars, merge_contextvars
from structlog.testing import capture_logs
from structlog.typing import EventDict

from midwatch.llm.scripted import ScriptedCall, ScriptedTurn
from midwatch.store.engine import Store
from tests.fakes.cutting_pool import CuttingPool, Harm
from tests.fakes.openai_server import from_script
from tests.lives import open_world

SCRIPT = (
    ScriptedTurn(calls=(ScriptedCall(name="deck.echo", arguments={"text": "a"}),)),
    ScriptedTurn(text="The pump ran dry."),
)


async def hear_of_retries(store: Store, folder: Path) -> list[EventDict]:
    """Whatever is committed is committed twice, and each time the log tells so."""
    async with open_world(store, folder / "effects", from_script(SCRIPT)) as world:
        session_id = await world.submit()
        struck = CuttingPool(store.pool, dict.fromkeys(range(3, 40, 2), Harm.LOSE_QUESTION))
        with capture_logs(processors=[merge_contextvars]) as logs, bound_contextvars(session_id=str(session_id)):
            await world.live(struck)
    return [line for line in logs if line["event"] == "commit_retried"]


async def test_lines_carry_the_ids_of_what_is_under_way(clean_store: Store, tmp_path: Path) -> None:
    lines = await hear_of_retries(clean_store, tmp_path)
    async with clean_store.connect() as tx:
        call_id = str(await tx.fetchval("SELECT call_id FROM tool_calls"))
        execution_ids = {
            str(row["execution_id"]) for row in await tx.fetch("SELECT execution_id FROM agent_executions")
        }
        session_id = str(await tx.fetchval("SELECT session_id FROM alert_sessions"))
    assert {line["session_id"] for line in lines} == {session_id}
    of_agents = [line for line in lines if "execution_id" in line]
    assert {line["execution_id"] for line in of_agents} <= execution_ids
    of_calls = [line for line in lines if "call_id" in line]
    assert {line["call_id"] for line in of_calls} == {call_id}
    assert all("execution_id" in line for line in of_calls)
    assert len(of_calls) < len(of_agents) < len(lines)
