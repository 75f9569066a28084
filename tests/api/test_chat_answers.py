"""Questions that are answered: what the agent is told, what it leaves in the timeline, and how an answer ends."""

import asyncio
from pathlib import Path
from uuid import UUID

import pytest

from midwatch.llm.scripted import ScriptedTurn
from tests.api.chatting import ANSWER, FOUND, LOOK, TALK, Chat, by_model, chatting
from tests.api.shelf import SESSIONS
from tests.fakes.openai_server import Body, stall_after
from tests.waiting import eventually


def words_of(body: Body) -> str:
    return "\n".join(str(message["content"]) for message in body["messages"])


async def test_a_question_is_answered_from_what_the_investigation_found(dsn: str, tmp_path: Path) -> None:
    answer = by_model(mate=[LOOK, FOUND], talk=[LOOK, ANSWER])
    async with asyncio.timeout(60), chatting(tmp_path, dsn, answer) as chat:
        stage_id = await chat.asked()
        stage = await chat.ended(stage_id)
        assert (stage["status"], stage["stage_name"], stage["stage_type"]) == ("completed", "Chat", "chat")
        (execution,) = stage["executions"]
        assert (execution["agent_name"], execution["status"], execution["llm_provider"]) == (
            *("ChatAgent", "completed"),
            TALK,
        )
        entries = await chat.entries(stage_id)
        shown = [(entry["event_type"], entry["status"]) for entry in entries]
        assert shown == [
            ("user_question", "completed"),
            ("llm_thinking", "completed"),
            ("llm_response", "completed"),
            ("llm_tool_call", "completed"),
            ("llm_response", "completed"),
            ("final_analysis", "completed"),
        ]
        assert entries[-1]["content"] == ANSWER.text
        asked, _ = chat.talks()
        for told in ("The bilge pump runs hot.", "the valve is stuck", FOUND.text, "Why was the valve stuck?"):
            assert told in words_of(asked), told
        session = await chat.edge.show(chat.session_id)
        assert (session["status"], session["final_analysis"]) == ("completed", FOUND.text)
        assert session["attempts"] == 0
        trace = (await chat.edge.http.get(f"{SESSIONS}/{chat.session_id}/trace")).json()
        (talk,) = [each for each in trace["stages"] if each["stage_id"] == stage_id]
        interactions = talk["executions"][0]["llm_interactions"]
        assert [each["interaction_type"] for each in interactions] == ["chat_response", "chat_response"]


async def test_the_next_question_is_asked_with_what_came_of_the_last(dsn: str, tmp_path: Path) -> None:
    answer = by_model(mate=[FOUND], talk=[LOOK, ANSWER])
    async with asyncio.timeout(60), chatting(tmp_path, dsn, answer) as chat:
        await chat.ended(await chat.asked("Why was it stuck?"))
        stage_id = await chat.asked("Who should have greased it?")
        assert (await chat.ended(stage_id))["status"] == "completed"
        told = words_of(chat.talks()[-2])
        for words in ("Why was it stuck?", ANSWER.text, "the valve is stuck", "Who should have greased it?"):
            assert words in told, words
        assert told.count("Why was it stuck?") == 1
        session = await chat.edge.show(chat.session_id)
        assert session["chat_message_count"] == 2
        assert [stage["stage_index"] for stage in session["stages"]] == list(range(1, len(session["stages"]) + 1))


async def test_a_selection_of_the_alert_holds_for_its_questions(dsn: str, tmp_path: Path) -> None:
    alert = {"mcp": {"servers": [{"name": "deck", "tools": ["echo"]}]}}
    answer = by_model(mate=[FOUND], talk=[ANSWER])
    async with asyncio.timeout(60), chatting(tmp_path, dsn, answer, alert=alert) as chat:
        await chat.ended(await chat.asked())
        (asked,) = chat.talks()
        assert [tool["function"]["name"] for tool in asked["tools"]] == ["deck__echo"]


async def test_without_a_block_of_its_own_a_chat_has_the_usual_agent_and_all_servers_of_the_stages(
    dsn: str, tmp_path: Path
) -> None:
    answer = by_model(mate=[FOUND])
    async with asyncio.timeout(60), chatting(tmp_path, dsn, answer, chain={"description": "no chat block"}) as chat:
        (execution,) = (await chat.ended(await chat.asked()))["executions"]
        assert (execution["agent_name"], execution["llm_provider"]) == ("ChatAgent", "script")
        asked = chat.model.requests[-1].body
        assert "deck__echo" in [tool["function"]["name"] for tool in asked["tools"]]


async def test_a_question_whose_model_fails_ends_as_failed_and_the_next_can_be_asked(dsn: str, tmp_path: Path) -> None:
    broken = True

    def answer(body: Body) -> ScriptedTurn:
        if body["model"] == TALK and broken:
            return ScriptedTurn(text="")
        return ANSWER if body["model"] == TALK else FOUND

    async with asyncio.timeout(60), chatting(tmp_path, dsn, answer) as chat:
        stage = await chat.ended(await chat.asked())
        assert (stage["status"], stage["executions"][0]["status"]) == ("failed", "failed")
        assert stage["error_message"]
        broken = False
        assert (await chat.ended(await chat.asked("Again?")))["status"] == "completed"
        assert (await chat.edge.show(chat.session_id))["status"] == "completed"


@pytest.mark.parametrize("again", [1, 2])
async def test_an_answer_that_streams_is_cancelled_with_all_that_belongs_to_it(
    dsn: str, tmp_path: Path, again: int
) -> None:
    never = asyncio.Event()
    answer = by_model(mate=[FOUND], talk=[LOOK, stall_after(ANSWER, 3, release=never)])
    async with asyncio.timeout(60), chatting(tmp_path, dsn, answer) as chat:
        stage_id = await chat.asked()
        await eventually(lambda: has_words(chat, stage_id))
        async with asyncio.TaskGroup() as group:
            cancels = [group.create_task(chat.cancel()) for _ in range(again)]
        assert {task.result().status_code for task in cancels} <= {200, 409}
        assert cancels[0].result().json()["message"] == "Question is being cancelled" or again > 1
        stage = await chat.ended(stage_id)
        assert (stage["status"], stage["executions"][0]["status"]) == ("cancelled", "cancelled")
        assert {entry["status"] for entry in await chat.entries(stage_id)} == {"completed", "cancelled"}
        session = await chat.edge.show(chat.session_id)
        assert session["status"] == "completed", "what was found stays found"
        assert (await chat.cancel()).status_code == 409
        assert (await chat.ask("And now?")).status_code == 202
        async with chat.edge.store.connect() as tx:
            assert await tx.fetchval("SELECT count(*) FROM cancel_requests") == 0


async def has_words(chat: Chat, stage_id: str) -> bool:
    entries = await chat.entries(stage_id)
    return any(entry["status"] == "streaming" and entry["content"] for entry in entries)


async def test_a_chat_runs_outside_the_cap_on_sessions_and_in_slots_of_its_own(dsn: str, tmp_path: Path) -> None:
    never = asyncio.Event()
    first = True

    def answer(body: Body) -> object:
        if body["model"] == TALK:
            return ANSWER
        return FOUND if first else stall_after(FOUND, 3, release=never)

    async with asyncio.timeout(60), chatting(tmp_path, dsn, answer) as chat:  # pyright: ignore[reportArgumentType] -- replies of two kinds
        first = False
        for _ in range(2):
            await chat.edge.submit()
        await eventually(lambda: chat.edge.service.worker.busy_slots == 2)
        assert (await chat.ended(await chat.asked()))["status"] == "completed"
        async with chat.edge.store.connect() as tx:
            lease = await tx.fetchrow(
                "SELECT owner, expires_at, run_kind FROM session_leases WHERE session_id = $1", UUID(chat.session_id)
            )
        assert lease is not None
        assert (lease["owner"], lease["expires_at"], lease["run_kind"]) == (None, None, "chat")
