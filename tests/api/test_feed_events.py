"""What is told over the WebSocket while a session runs: every event of the wire, with its fields and no others."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from midwatch.kit import json
from midwatch.llm.scripted import ScriptedCall, ScriptedTurn
from tests.api.edge import Edge, open_edge, running, write_config
from tests.api.watcher import Event, Watcher, delivering, watching, working
from tests.fakes.openai_server import Reply, Stream, by_turn, serve, stall_after

LOOK = ScriptedTurn(
    thinking="I should look.",
    text="I look.",
    calls=(
        ScriptedCall(name="deck.lookup", arguments={"key": "pump"}),
        ScriptedCall(name="deck.nowhere", arguments={}),
    ),
)
CONCLUSION = ScriptedTurn(text="The deck is dry.")
_WORDS = 3
"""Events of a stream after which its first words have been said."""

ALWAYS = {"type", "session_id", "timestamp"}
STORED = {*ALWAYS, "db_event_id"}
PLACE = {"stage_id", "execution_id"}
CREATED = {"event_id", *PLACE, "event_type", "status", "content", "sequence_number"}
COMPLETED = {"event_id", "event_type", "content", "status"}
PROGRESS = {"current_stage_name", "current_stage_index", "total_stages", "active_executions", "status_text"}
FIELDS = {
    "timeline_event.created": (STORED | CREATED, {"metadata"}),
    "timeline_event.completed": (STORED | COMPLETED, {"metadata"}),
    "stream.chunk": (ALWAYS | {"event_id", "delta"}, set[str]()),
    "session.status": (STORED | {"status"}, set[str]()),
    "stage.status": (STORED | {"stage_id", "stage_name", "stage_index", "stage_type", "status"}, set[str]()),
    "interaction.created": (STORED | PLACE | {"interaction_id", "interaction_type"}, set[str]()),
    "session.progress": (ALWAYS | PROGRESS, set[str]()),
    "execution.progress": (ALWAYS | PLACE | {"phase", "message"}, set[str]()),
    "execution.status": (ALWAYS | PLACE | {"agent_index", "status"}, {"error_message"}),
}


@asynccontextmanager
async def scene(folder: Path, dsn: str, replies: Sequence[Reply], *, edges: int = 1) -> AsyncGenerator[list[Edge]]:
    """Edges on one database, whose agents ask a model that is served over HTTP."""
    async with serve(by_turn(replies)) as model:
        write_config(folder)
        providers = {"script": {"type": "openai", "model": "fake", "base_url": model.base_url}}
        (folder / "llm-providers.yaml").write_text(json.encode_text({"llm_providers": providers}), encoding="utf-8")
        async with asyncio.timeout(60), open_edge(folder, dsn) as one:
            if edges == 1:
                yield [one]
            else:
                async with open_edge(folder, dsn) as two:
                    yield [one, two]


def is_stored(event: Event) -> bool:
    return "db_event_id" in event


def of_type(events: list[Event], kind: str) -> list[Event]:
    return [event for event in events if event["type"] == kind]


def seen(events: list[Event], kind: str, name: str) -> list[Any]:
    return [event[name] for event in of_type(events, kind)]


async def test_a_whole_run_is_told_in_every_kind_of_event(tmp_path: Path, dsn: str) -> None:
    spoken, looked = asyncio.Event(), asyncio.Event()
    replies = [stall_after(LOOK, _WORDS, release=looked), stall_after(CONCLUSION, _WORDS, release=spoken)]
    async with (
        scene(tmp_path, dsn, replies) as (edge,),
        delivering(edge),
        watching(edge) as watcher,
        watching(edge) as overview,
    ):
        await overview.subscribe("sessions")
        session_id = await edge.submit()
        await watcher.subscribe(f"session:{session_id}")
        async with working(edge):
            events = await watcher.hear_until(type="stream.chunk")
            looked.set()
            events += await watcher.hear_until(type="stream.chunk", delta="The deck is dry.")
            spoken.set()
            events += await watcher.hear_until(type="session.status", status="completed")
            if not of_type(events, "session.progress")[3:]:
                # A sweep may bring the rows before the notification that says the rest.
                events += await watcher.hear_until(
                    type="session.progress", current_stage_name="Executive Summary", active_executions=0
                )
            overviewed = await overview.hear_until(type="session.status", status="completed")
    check_fields(events, session_id)
    check_story(events)
    check_overview(overviewed, session_id)


def check_fields(events: list[Event], session_id: str) -> None:
    assert {event["type"] for event in events} == FIELDS.keys()
    for event in events:
        needed, optional = FIELDS[event["type"]]
        if event["type"] == "timeline_event.created" and event["status"] == "streaming":
            # A text is announced when it begins, and once more as it is stored.
            needed, optional = needed - {"db_event_id"}, optional | {"db_event_id"}
        assert needed <= event.keys() <= needed | optional, event
        assert event["session_id"] == session_id
        assert event["timestamp"].endswith("Z")
    stored = [event["db_event_id"] for event in events if is_stored(event)]
    assert stored == list(range(1, len(stored) + 1))


def check_story(events: list[Event]) -> None:
    assert seen(events, "session.status", "status") == ["pending", "in_progress", "completed"]
    assert seen(events, "stage.status", "status") == ["started", "completed"] * 2
    assert seen(events, "stage.status", "stage_type") == ["investigation"] * 2 + ["exec_summary"] * 2
    assert seen(events, "execution.status", "status") == ["active", "completed"] * 2
    assert seen(events, "execution.status", "agent_index") == [1] * 4
    assert seen(events, "session.progress", "active_executions") == [1, 0, 1, 0]
    assert seen(events, "session.progress", "total_stages") == [2] * 4
    assert [(e["current_stage_name"], e["current_stage_index"]) for e in of_type(events, "session.progress")] == [
        ("watch", 1),
        ("watch", 1),
        ("Executive Summary", 2),
        ("Executive Summary", 2),
    ]
    assert seen(events, "execution.progress", "phase") == [
        "investigating",
        "gathering_info",
        "gathering_info",
        "investigating",
        "finalizing",
        "finalizing",
        "finalizing",
    ]
    assert seen(events, "interaction.created", "interaction_type") == ["llm", "mcp", "llm", "llm"]
    types = {e["event_type"] for e in of_type(events, "timeline_event.created")}
    assert types == {"llm_thinking", "llm_response", "llm_tool_call", "tool_refused", "final_analysis"}


def check_overview(events: list[Event], session_id: str) -> None:
    assert {event["session_id"] for event in events} == {session_id}
    assert not any(is_stored(event) for event in events)
    assert [event.get("status") or event["active_executions"] for event in events] == [
        "pending",
        "in_progress",
        1,
        0,
        1,
        0,
        "completed",
    ]
    for event in events:
        expected = {"status"} if event["type"] == "session.status" else PROGRESS
        assert event.keys() == ALWAYS | expected


async def test_who_watches_all_sessions_hears_of_new_ones_and_of_cancelled_ones(tmp_path: Path, dsn: str) -> None:
    held = asyncio.Event()
    async with scene(tmp_path, dsn, [Stream([held])]) as (edge,), delivering(edge), watching(edge) as overview:
        await overview.subscribe("sessions")
        session_id = await edge.submit()
        async with watching(edge) as watcher:
            await watcher.subscribe(f"session:{session_id}")
            async with working(edge):
                events = await watcher.hear_until(type="execution.progress", phase="investigating")
                await edge.http.post(f"/api/v1/sessions/{session_id}/cancel")
                events += await watcher.hear_until(type="execution.status", status="cancelled")
            told = await overview.hear_until(type="session.status", status="cancelled")
    assert seen(told, "session.status", "status") == ["pending", "in_progress", "cancelling", "cancelled"]
    assert seen(events, "execution.status", "status") == ["active", "cancelled"]


async def test_a_failed_execution_says_why(tmp_path: Path, dsn: str) -> None:
    replies = [ScriptedTurn(text="")] * 9
    async with scene(tmp_path, dsn, replies) as (edge,), delivering(edge), watching(edge) as watcher:
        session_id = await edge.submit()
        await watcher.subscribe(f"session:{session_id}")
        async with working(edge):
            events = await watcher.hear_until(type="execution.status", status="failed")
    failed = of_type(events, "execution.status")[-1]
    assert failed["status"] == "failed"
    assert "answered with nothing" in failed["error_message"]


async def test_every_replica_delivers_everything(tmp_path: Path, dsn: str) -> None:
    release = asyncio.Event()
    replies = [LOOK, stall_after(CONCLUSION, _WORDS, release=release)]
    async with scene(tmp_path, dsn, replies, edges=2) as (one, two):
        session_id = await one.submit()
        async with watching(one) as here, watching(two) as there, running(one), running(two):
            watchers = [here, there]
            for watcher in watchers:
                await watcher.subscribe(f"session:{session_id}")
            told = [await watcher.hear_until(type="stream.chunk", delta="The deck is dry.") for watcher in watchers]
            release.set()
            for place, watcher in enumerate(watchers):
                told[place] += await watcher.hear_until(type="session.status", status="completed")
    stored = [[event for event in events if is_stored(event)] for events in told]
    assert stored[0] == stored[1]
    assert [event["db_event_id"] for event in stored[0]] == list(range(1, len(stored[0]) + 1))
    chunks = ["".join(seen(events, "stream.chunk", "delta")) for events in told]
    assert chunks[0].endswith("The deck is dry.")
    assert chunks[1].endswith("The deck is dry.")


async def test_who_watches_all_sessions_is_told_to_look_again_when_notifications_were_lost(
    tmp_path: Path, dsn: str
) -> None:
    async with scene(tmp_path, dsn, []) as (edge,), running(edge), watching(edge) as overview:
        await overview.subscribe("sessions")
        await expect_status_of_new_session(edge, overview)
        async with edge.store.connect() as tx:
            await tx.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid() AND query LIKE 'LISTEN%'"
            )
        assert (await overview.hear_until(type="catchup.overflow"))[-1] == {
            "type": "catchup.overflow",
            "channel": "sessions",
            "has_more": True,
        }
        await expect_status_of_new_session(edge, overview)


async def expect_status_of_new_session(edge: Edge, overview: Watcher) -> None:
    session_id = await edge.submit()
    await overview.hear_until(type="session.status", session_id=session_id, status="pending")
