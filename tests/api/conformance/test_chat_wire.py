"""A question over the wire: what is answered to whoever asks, and what a subscriber of the session hears of it."""

import asyncio
from pathlib import Path

import pytest

from tests.api.chatting import ANSWER, FOUND, LOOK, by_model, write_chat_config
from tests.api.conformance.shapes import COUNTED, ID, MOMENT, TEXT, WORD, Absent, Kind, check, having, one_of
from tests.api.edge import open_edge
from tests.api.shelf import SESSIONS, wait_for_end
from tests.api.watcher import Event, delivering, watching, working
from tests.fakes.openai_server import serve

ACCEPTED = having(chat_id=ID, message_id=ID, stage_id=ID)
CANCELLED = having(session_id=ID, message=WORD)
STORED: dict[str, Kind] = {"session_id": ID, "timestamp": MOMENT, "db_event_id": COUNTED}
EVENTS: dict[str, Kind] = {
    "chat.created": having(**STORED, chat_id=ID, created_by=WORD),
    "timeline_event.created": having(
        **STORED,
        event_id=ID,
        stage_id=ID,
        execution_id=Absent(ID),
        event_type=one_of("user_question", "llm_thinking", "llm_response", "llm_tool_call", "final_analysis"),
        status=one_of("streaming", "completed"),
        content=TEXT,
        metadata=Absent(having()),
        sequence_number=COUNTED,
    ),
    "timeline_event.completed": having(
        **STORED, event_id=ID, event_type=WORD, content=TEXT, status=one_of("completed"), metadata=Absent(having())
    ),
    "stage.status": having(
        **STORED,
        stage_id=ID,
        stage_name=one_of("Chat"),
        stage_index=COUNTED,
        stage_type=one_of("chat"),
        status=one_of("started", "completed"),
    ),
    "interaction.created": having(
        **STORED, stage_id=ID, execution_id=ID, interaction_id=ID, interaction_type=one_of("llm", "mcp")
    ),
}


@pytest.fixture
async def heard(dsn: str, tmp_path: Path) -> list[list[Event]]:
    """Two questions one after another, each as the stored events that a subscriber hears of it."""
    told: list[list[Event]] = []
    async with asyncio.timeout(60), serve(by_model(mate=[FOUND], talk=[LOOK, ANSWER])) as model:
        write_chat_config(tmp_path, model.base_url)
        async with open_edge(tmp_path, dsn) as edge, delivering(edge), watching(edge) as watcher, working(edge):
            session_id = await edge.submit()
            await wait_for_end(edge, session_id)
            await watcher.subscribe(f"session:{session_id}")
            await watcher.hear_until(type="session.status", status="completed")
            for content in ("Why?", "And why that?"):
                answer = await edge.http.post(f"{SESSIONS}/{session_id}/chat/messages", json={"content": content})
                check(answer.json(), ACCEPTED)
                events = await watcher.hear_until(type="stage.status", status="completed")
                told.append([event for event in events if "db_event_id" in event])
    return told


async def test_every_stored_event_of_a_question_has_the_fields_of_its_row(heard: list[list[Event]]) -> None:
    first, second = heard
    assert {event["type"] for event in first} == EVENTS.keys()
    assert {event["type"] for event in second} == EVENTS.keys() - {"chat.created"}
    for event in [*first, *second]:
        check(event, EVENTS[event["type"]])
    numbers = [event["db_event_id"] for event in [*first, *second]]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))


async def test_the_question_comes_first_and_the_stage_ends_last(heard: list[list[Event]]) -> None:
    for events in heard:
        types = [event["type"] for event in events if event["type"] != "chat.created"]
        assert types[:2] == ["timeline_event.created", "stage.status"]
        assert (types[-2], types[-1]) == ("timeline_event.created", "stage.status")
        entries = [event for event in events if event["type"] == "timeline_event.created"]
        assert (entries[0]["event_type"], entries[-1]["event_type"]) == ("user_question", "final_analysis")
        assert entries[-1]["content"] == ANSWER.text


async def test_cancelling_a_question_is_answered_as_cancelling_a_session_is(dsn: str, tmp_path: Path) -> None:
    async with asyncio.timeout(60), serve(by_model(mate=[FOUND])) as model:
        write_chat_config(tmp_path, model.base_url)
        async with open_edge(tmp_path, dsn) as edge, working(edge):
            session_id = await edge.submit()
            await wait_for_end(edge, session_id)
        async with open_edge(tmp_path, dsn) as edge:
            await edge.http.post(f"{SESSIONS}/{session_id}/chat/messages", json={"content": "Why?"})
            answer = await edge.http.post(f"{SESSIONS}/{session_id}/cancel")
            assert answer.status_code == 200
            check(answer.json(), CANCELLED)
