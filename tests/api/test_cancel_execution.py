"""Ending one agent of a stage: it ends as cancelled, its neighbours go on, and the stage's policy decides."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from midwatch.kit import json
from midwatch.kit.ids import new_id
from midwatch.llm.scripted import ScriptedCall, ScriptedTurn
from midwatch.store.cancels import add_cancel_request
from tests.api.chatting import by_model
from tests.api.edge import Edge, open_edge, running, write_config
from tests.api.shelf import SESSIONS, wait_for_end
from tests.fakes.openai_server import Answer, OpenAIServer, serve, stall_after
from tests.waiting import eventually

FOUND = ScriptedTurn(text="The valve was stuck.")
SUMMED_UP = ScriptedTurn(text="A stuck valve.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    edge: Edge
    model: OpenAIServer
    session_id: str

    async def execution(self, agent: str) -> dict[str, Any] | None:
        stages = (await self.edge.show(self.session_id))["stages"]
        executions = (each for stage in stages for each in stage["executions"])
        return next((each for each in executions if each["agent_name"] == agent), None)

    async def cancel(self, execution_id: object) -> int:
        path = f"{SESSIONS}/{self.session_id}/executions/{execution_id}/cancel"
        return (await self.edge.http.post(path)).status_code

    async def want_ended(self, target_id: str) -> None:
        """Stored, and told to nobody."""
        async with self.edge.store.begin() as tx:
            await add_cancel_request(tx, UUID(self.session_id), UUID(target_id))

    async def streaming(self, execution_id: str) -> bool:
        entries = (await self.edge.http.get(f"{SESSIONS}/{self.session_id}/timeline")).json()
        return any(e["status"] == "streaming" and e["execution_id"] == execution_id for e in entries)


@asynccontextmanager
async def watching_over(
    folder: Path,
    dsn: str,
    answer: Answer,
    *,
    agents: tuple[str, ...] = ("Mate", "Bosun"),
    policy: str = "any",
    heartbeat: str = "300s",
) -> AsyncGenerator[Watch]:
    """A stage whose agents have each a model of their own name, for a session that was just submitted."""
    async with serve(answer) as model:
        write_config(folder)
        main = json.decode((folder / "midwatch.yaml").read_text())
        members = [{"name": agent, "llm_provider": agent} for agent in agents]
        stage = {"name": "watch", "success_policy": policy, "agents": members}
        main["agents"] = {agent: {"mcp_servers": ["deck"]} for agent in agents}
        main["queue"]["heartbeat_interval"] = heartbeat
        main["agent_chains"] = {"deck": {"alert_types": ["deck"], "stages": [stage]}}
        (folder / "midwatch.yaml").write_text(json.encode_text(main))
        providers = {
            name: {"type": "openai", "model": name, "base_url": model.base_url} for name in ("script", *agents)
        }
        (folder / "llm-providers.yaml").write_text(json.encode_text({"llm_providers": providers}))
        async with open_edge(folder, dsn) as edge, running(edge):
            yield Watch(edge=edge, model=model, session_id=await edge.submit())


@pytest.mark.parametrize(("policy", "ends_as"), [("any", "completed"), ("all", "cancelled")])
async def test_one_agent_is_ended_and_its_neighbour_goes_on(
    dsn: str, tmp_path: Path, policy: str, ends_as: str
) -> None:
    never, later = asyncio.Event(), asyncio.Event()
    answer = by_model(
        Mate=[stall_after(FOUND, 3, release=later)],
        Bosun=[stall_after(FOUND, 3, release=never)],
        script=[SUMMED_UP],
    )
    async with asyncio.timeout(60), watching_over(tmp_path, dsn, answer, policy=policy) as watch:
        bosun = await eventually(lambda: watch.execution("Bosun"))
        await eventually(lambda: watch.streaming(bosun["execution_id"]))
        async with asyncio.TaskGroup() as group:
            both = [group.create_task(watch.cancel(bosun["execution_id"])) for _ in range(2)]
        assert {task.result() for task in both} <= {200, 409}
        assert 200 in {task.result() for task in both}
        await eventually(lambda: has_status(watch, "Bosun", "cancelled"))
        mate = await watch.execution("Mate")
        assert mate is not None
        assert mate["status"] == "active"
        later.set()
        session = await wait_for_end(watch.edge, watch.session_id)
        assert session["status"] == ends_as
        ended = {each["agent_name"]: each for each in session["stages"][0]["executions"]}
        assert (ended["Mate"]["status"], ended["Bosun"]["status"]) == ("completed", "cancelled")
        assert ended["Bosun"]["error_message"] == "cancelled by a person"
        assert await watch.cancel(bosun["execution_id"]) == 409
        entries = (await watch.edge.http.get(f"{SESSIONS}/{watch.session_id}/timeline")).json()
        cut = [each["status"] for each in entries if each["execution_id"] == bosun["execution_id"]]
        assert cut == ["cancelled"]
        async with watch.edge.store.connect() as tx:
            assert await tx.fetchval("SELECT count(*) FROM cancel_requests") == 0


async def has_status(watch: Watch, agent: str, status: str) -> bool:
    execution = await watch.execution(agent)
    return execution is not None and execution["status"] == status


async def test_a_stage_whose_only_agent_is_ended_by_a_person_ends_the_session_as_cancelled(
    dsn: str, tmp_path: Path
) -> None:
    never = asyncio.Event()
    answer = by_model(Mate=[stall_after(FOUND, 3, release=never)])
    async with asyncio.timeout(60), watching_over(tmp_path, dsn, answer, agents=("Mate",)) as watch:
        mate = await eventually(lambda: watch.execution("Mate"))
        assert await watch.cancel(mate["execution_id"]) == 200
        session = await wait_for_end(watch.edge, watch.session_id)
        assert (session["status"], session["stages"][0]["status"]) == ("cancelled", "cancelled")


async def test_an_agent_whose_tool_is_at_work_is_ended_without_waiting_for_it(dsn: str, tmp_path: Path) -> None:
    slow = ScriptedTurn(text="I wait.", calls=(ScriptedCall(name="deck.slow_read", arguments={"seconds": 600}),))
    async with asyncio.timeout(60), watching_over(tmp_path, dsn, by_model(Mate=[slow]), agents=("Mate",)) as watch:
        mate = await eventually(lambda: watch.execution("Mate"))
        await eventually(lambda: watch.streaming(mate["execution_id"]))
        assert await watch.cancel(mate["execution_id"]) == 200
        assert (await wait_for_end(watch.edge, watch.session_id))["status"] == "cancelled"
        entries = (await watch.edge.http.get(f"{SESSIONS}/{watch.session_id}/timeline")).json()
        calls = [each for each in entries if each["event_type"] == "llm_tool_call"]
        assert [(each["status"], each["metadata"]["call_state"]) for each in calls] == [("cancelled", "unknown")]


async def test_what_is_not_there_cannot_be_ended(dsn: str, tmp_path: Path) -> None:
    async with asyncio.timeout(60), watching_over(tmp_path, dsn, by_model(Mate=[FOUND]), agents=("Mate",)) as watch:
        await wait_for_end(watch.edge, watch.session_id)
        mate = await watch.execution("Mate")
        assert mate is not None
        assert await watch.cancel(new_id()) == 404
        elsewhere = f"{SESSIONS}/{new_id()}/executions/{mate['execution_id']}/cancel"
        assert (await watch.edge.http.post(elsewhere)).status_code == 404
        assert await watch.cancel(mate["execution_id"]) == 409


async def test_a_request_that_nobody_heard_of_is_seen_at_the_next_heartbeat(dsn: str, tmp_path: Path) -> None:
    answer = by_model(Mate=[stall_after(FOUND, 3, release=asyncio.Event())])
    watch_over = watching_over(tmp_path, dsn, answer, agents=("Mate",), heartbeat="1s")
    async with asyncio.timeout(60), watch_over as watch:
        mate = await eventually(lambda: watch.execution("Mate"))
        await watch.want_ended(mate["execution_id"])
        assert (await wait_for_end(watch.edge, watch.session_id))["status"] == "cancelled"


async def test_a_call_whose_end_nobody_heard_of_is_ended_at_the_next_heartbeat(dsn: str, tmp_path: Path) -> None:
    slow = ScriptedTurn(text="I wait.", calls=(ScriptedCall(name="deck.slow_read", arguments={"seconds": 600}),))
    watch_over = watching_over(tmp_path, dsn, by_model(Mate=[slow, FOUND]), agents=("Mate",), heartbeat="1s")
    async with asyncio.timeout(60), watch_over as watch:
        await watch.want_ended(await eventually(lambda: find_call(watch)))
        assert (await wait_for_end(watch.edge, watch.session_id))["status"] == "completed"
        assert "A person cancelled this call" in str(watch.model.requests[1].body)


async def find_call(watch: Watch) -> str | None:
    entries = (await watch.edge.http.get(f"{SESSIONS}/{watch.session_id}/timeline")).json()
    return next((each["metadata"]["call_id"] for each in entries if each["event_type"] == "llm_tool_call"), None)


async def test_an_agent_that_concludes_after_somebody_wanted_it_ended_is_cancelled_all_the_same(
    dsn: str, tmp_path: Path
) -> None:
    later = asyncio.Event()
    answer = by_model(Mate=[stall_after(FOUND, 3, release=later)])
    async with asyncio.timeout(60), watching_over(tmp_path, dsn, answer, agents=("Mate",)) as watch:
        mate = await eventually(lambda: watch.execution("Mate"))
        await watch.want_ended(mate["execution_id"])
        later.set()
        session = await wait_for_end(watch.edge, watch.session_id)
        assert (session["status"], session["stages"][0]["executions"][0]["status"]) == ("cancelled", "cancelled")
        entries = (await watch.edge.http.get(f"{SESSIONS}/{watch.session_id}/timeline")).json()
        assert [each["event_type"] for each in entries] == ["llm_response"], "it has said something and found nothing"
