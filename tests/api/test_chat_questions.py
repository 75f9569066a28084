"""Questions about a session: who may ask what and when, and what an accepted one leaves behind."""

import asyncio
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest

from midwatch.domain.session import SessionStatus
from midwatch.kit import json
from midwatch.kit.ids import new_id
from midwatch.store.engine import Store
from tests.api.edge import Edge, open_edge, write_config
from tests.api.shelf import SESSIONS, Shelved, shelve
from tests.stored import read_everything

LONGEST = 100_000


async def ask(edge: Edge, session_id: object, content: object = "Why was it hot?", **headers: str) -> httpx.Response:
    path = f"{SESSIONS}/{session_id}/chat/messages"
    return await edge.http.post(path, json={"content": content}, headers=headers)


async def everything(store: Store) -> dict[str, Any]:
    async with store.connect() as tx:
        return await read_everything(tx)


async def stages_of(store: Store, session_id: str) -> list[dict[str, Any]]:
    async with store.connect() as tx:
        rows = await tx.fetch("SELECT * FROM stages WHERE session_id = $1 ORDER BY stage_index", UUID(session_id))
    return [dict(row) for row in rows]


@pytest.mark.parametrize("status", [SessionStatus.COMPLETED, SessionStatus.FAILED, SessionStatus.TIMED_OUT])
async def test_a_question_about_an_ended_session_is_stored_whole_before_it_is_accepted(
    edge: Edge, status: SessionStatus
) -> None:
    session_id = await shelve(edge.store, Shelved(status=status))
    answer = await ask(edge, session_id, "Why was it hot?", **{"X-Forwarded-User": "ada"})
    assert answer.status_code == 202, answer.text
    accepted = answer.json()
    assert accepted.keys() == {"chat_id", "message_id", "stage_id"}
    (stage,) = await stages_of(edge.store, session_id)
    assert (str(stage["stage_id"]), stage["stage_type"], stage["stage_name"], stage["status"]) == (
        *(accepted["stage_id"], "chat", "Chat"),
        "pending",
    )
    assert (str(stage["chat_id"]), str(stage["chat_user_message_id"])) == (accepted["chat_id"], accepted["message_id"])
    (entry,) = (await edge.http.get(f"{SESSIONS}/{session_id}/timeline")).json()
    assert (entry["event_type"], entry["status"], entry["content"]) == ("user_question", "completed", "Why was it hot?")
    assert (entry["stage_id"], entry["metadata"]) == (accepted["stage_id"], {"author": "ada"})
    session = await edge.show(session_id)
    assert (session["chat_id"], session["chat_message_count"]) == (accepted["chat_id"], 1)
    assert session["status"] == status


async def test_questions_are_listed_with_who_asked_and_how_they_stand(edge: Edge) -> None:
    session_id = await shelve(edge.store, Shelved())
    path = f"{SESSIONS}/{session_id}/chat"
    assert (await edge.http.get(path)).json() == {"chat_id": None, "messages": []}
    accepted = (await ask(edge, session_id, **{"X-Forwarded-User": "ada"})).json()
    listed = (await edge.http.get(path)).json()
    assert listed["chat_id"] == accepted["chat_id"]
    (message,) = listed["messages"]
    assert message.keys() == {
        *("message_id", "stage_id", "status", "content", "author", "created_at", "error_message"),
        *("attempts", "resumed_at", "queue", "lease", "selected_resources"),
    }
    assert (message["message_id"], message["stage_id"]) == (accepted["message_id"], accepted["stage_id"])
    assert (message["author"], message["content"], message["status"]) == ("ada", "Why was it hot?", "pending")
    assert (await edge.http.get(f"{SESSIONS}/{new_id()}/chat")).status_code == 404


UNASKABLE = [SessionStatus.PENDING, SessionStatus.IN_PROGRESS, SessionStatus.CANCELLING, SessionStatus.CANCELLED]


@pytest.mark.parametrize("status", UNASKABLE)
async def test_a_session_that_has_not_ended_or_was_cancelled_takes_no_questions(
    edge: Edge, status: SessionStatus
) -> None:
    session_id = await shelve(edge.store, Shelved(status=status))
    before = await everything(edge.store)
    answer = await ask(edge, session_id)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid")
    assert f"this one is {status}" in answer.json()["message"]
    assert await everything(edge.store) == before


@pytest.mark.parametrize("content", ["", " \n\t", "x" * (LONGEST + 1), "é" * (LONGEST // 2 + 1), None, 7])
async def test_a_question_that_is_blank_too_long_or_no_text_leaves_nothing(edge: Edge, content: object) -> None:
    session_id = await shelve(edge.store, Shelved())
    before = await everything(edge.store)
    answer = await ask(edge, session_id, content)
    assert (answer.status_code, answer.json()["field"]) == (400, "content")
    assert await everything(edge.store) == before


async def test_the_longest_question_is_taken(edge: Edge) -> None:
    session_id = await shelve(edge.store, Shelved())
    assert (await ask(edge, session_id, "x" * LONGEST)).status_code == 202


async def test_nothing_can_be_asked_about_a_session_that_is_not_there(edge: Edge) -> None:
    assert (await ask(edge, new_id())).status_code == 404
    assert (await ask(edge, "nonsense")).status_code == 400
    session_id = await shelve(edge.store, Shelved())
    async with edge.store.connect() as tx:
        await tx.execute("UPDATE alert_sessions SET deleted_at = now() WHERE session_id = $1", UUID(session_id))
    assert (await ask(edge, session_id)).status_code == 404


@pytest.mark.parametrize(("chat", "expected"), [(None, 202), ({"enabled": True}, 202), ({"enabled": False}, 400)])
async def test_the_chain_that_the_session_had_says_whether_it_takes_questions(
    edge: Edge, chat: dict[str, bool] | None, expected: int
) -> None:
    session_id = await shelve(edge.store, Shelved())
    async with edge.store.connect() as tx:
        await tx.execute(
            "UPDATE alert_sessions SET chain = chain || $2::jsonb WHERE session_id = $1",
            UUID(session_id),
            json.encode_text({"chat": chat}),
        )
    assert (await edge.show(session_id))["chat_enabled"] is (expected == 202)
    before = await everything(edge.store)
    answer = await ask(edge, session_id)
    assert answer.status_code == expected
    if expected == 400:
        assert "switched off" in answer.json()["message"]
        assert await everything(edge.store) == before


async def test_of_many_who_ask_at_once_one_is_heard_and_the_others_leave_nothing(edge: Edge) -> None:
    session_id = await shelve(edge.store, Shelved())
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        tasks = [group.create_task(ask(edge, session_id, f"Question {n}?")) for n in range(8)]
    statuses = sorted(task.result().status_code for task in tasks)
    assert statuses == [202, *[409] * 7]
    assert len(await stages_of(edge.store, session_id)) == 1
    session = await edge.show(session_id)
    assert session["chat_message_count"] == 1
    assert len((await edge.http.get(f"{SESSIONS}/{session_id}/timeline")).json()) == 1


async def test_while_one_question_is_open_another_is_refused(edge: Edge) -> None:
    session_id = await shelve(edge.store, Shelved())
    assert (await ask(edge, session_id)).status_code == 202
    before = await everything(edge.store)
    answer = await ask(edge, session_id, "And why was it wet?")
    assert (answer.status_code, answer.json()["code"]) == (409, "conflict")
    assert await everything(edge.store) == before


async def test_a_question_that_waits_is_cancelled_at_once_and_the_next_can_be_asked(edge: Edge) -> None:
    session_id = await shelve(edge.store, Shelved())
    first = (await ask(edge, session_id)).json()
    cancelled = await edge.http.post(f"{SESSIONS}/{session_id}/cancel")
    assert (cancelled.status_code, cancelled.json()["message"]) == (200, "Question cancelled")
    assert cancelled.json()["status"] == "completed", "the session's own status does not change"
    assert (await edge.http.post(f"{SESSIONS}/{session_id}/cancel")).status_code == 409
    second = await ask(edge, session_id, "And now?")
    assert (second.status_code, second.json()["chat_id"]) == (202, first["chat_id"])
    stages = await stages_of(edge.store, session_id)
    assert [(stage["status"], stage["stage_index"]) for stage in stages] == [("cancelled", 1), ("pending", 2)]
    async with edge.store.connect() as tx:
        events = await tx.fetch(
            "SELECT seq, type, payload FROM events WHERE session_id = $1 ORDER BY seq", UUID(session_id)
        )
    told = [(row["seq"], row["type"]) for row in events]
    assert told == [
        (1, "session.status"),
        (2, "chat.created"),
        (3, "timeline_event.created"),
        (4, "stage.status"),
        (5, "timeline_event.created"),
    ]
    assert json.decode(events[1]["payload"]) == {"chat_id": first["chat_id"], "created_by": "api-client"}
    assert json.decode(events[3]["payload"])["status"] == "cancelled"


async def test_secrets_in_a_question_are_masked_before_they_are_stored(edge: Edge) -> None:
    session_id = await shelve(edge.store, Shelved())
    assert (await ask(edge, session_id, "Does password=hunter2hunter2 still work?")).status_code == 202
    (message,) = (await edge.http.get(f"{SESSIONS}/{session_id}/chat")).json()["messages"]
    assert "MASKED_PASSWORD" in message["content"]
    assert "hunter2" not in str(await everything(edge.store))


async def test_a_replica_that_is_stopping_sends_questions_elsewhere(dsn: str, tmp_path: Path) -> None:
    write_config(tmp_path)
    async with open_edge(tmp_path, dsn) as edge:
        session_id = await shelve(edge.store, Shelved())
        before = await everything(edge.store)
        edge.service.drain()
        answer = await ask(edge, session_id)
        assert (answer.status_code, answer.json()["code"]) == (503, "stopping")
        assert await everything(edge.store) == before
