"""The WebSocket wire, row by row: every event of a run with its fields, their kinds, and the order of a life."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from websockets.asyncio.client import connect

from midwatch.kit import json
from midwatch.kit.ids import new_id
from midwatch.llm.scripted import ScriptedCall, ScriptedTurn
from midwatch.store.fence import Fence
from tests.api.conformance.shapes import (
    COUNTED,
    EMPTY,
    ID,
    MOMENT,
    NUMBER,
    TEXT,
    WORD,
    Absent,
    Kind,
    check,
    having,
    one_of,
    some,
)
from tests.api.edge import Edge, open_edge, write_config
from tests.api.watcher import Event, Watcher, delivering, watching, working
from tests.fakes.openai_server import by_turn, serve, stall_after
from tests.stored import add_running, commit_events
from tests.waiting import eventually

CAUGHT_UP = 200
LOOK = ScriptedTurn(
    thinking="I should look.",
    text="I look.",
    calls=(
        ScriptedCall(name="deck.lookup", arguments={"key": "pump"}),
        ScriptedCall(name="deck.fail", arguments={"message": "no such valve"}),
    ),
)
CONCLUSION = ScriptedTurn(text="The deck is dry.")
_SPOKEN = 3
"""Events of a stream after which its first words have been said."""

STREAMED = ("llm_thinking", "llm_response", "llm_tool_call", "mcp_tool_summary")
AT_ONCE = ("final_analysis", "user_question", "error", "executive_summary")
ALWAYS: dict[str, Kind] = {"session_id": ID, "timestamp": MOMENT}
STORED: dict[str, Kind] = {**ALWAYS, "db_event_id": COUNTED}
PLACE: dict[str, Kind] = {"stage_id": ID, "execution_id": ID}
TOOL_CALL = having(server_name=WORD, tool_name=WORD, arguments=TEXT)

EVENTS: dict[str, Kind] = {
    "timeline_event.created": having(
        **ALWAYS,
        db_event_id=Absent(COUNTED),
        event_id=ID,
        **PLACE,
        event_type=one_of(*STREAMED, *AT_ONCE),
        status=one_of("streaming", "completed"),
        content=TEXT,
        metadata=Absent(having()),
        sequence_number=NUMBER,
    ),
    "timeline_event.completed": having(
        **STORED,
        event_id=ID,
        event_type=one_of(*STREAMED),
        content=TEXT,
        status=one_of("completed", "failed", "cancelled", "timed_out"),
        metadata=Absent(having()),
    ),
    "stream.chunk": having(**ALWAYS, event_id=ID, delta=WORD),
    "session.status": having(**STORED, status=one_of("pending", "in_progress", "completed")),
    "stage.status": having(
        **STORED, stage_id=ID, stage_name=WORD, stage_index=COUNTED, status=one_of("started", "completed")
    ),
    "interaction.created": having(**STORED, **PLACE, interaction_id=ID, interaction_type=one_of("llm", "mcp")),
    "session.progress": having(
        **ALWAYS,
        current_stage_name=WORD,
        current_stage_index=COUNTED,
        total_stages=COUNTED,
        active_executions=NUMBER,
        status_text=WORD,
    ),
    "execution.progress": having(
        **ALWAYS,
        **PLACE,
        phase=one_of(
            *("investigating", "remediating", "gathering_info", "distilling", "concluding", "synthesizing"),
            "finalizing",
        ),
        message=WORD,
    ),
    "execution.status": having(
        **ALWAYS, **PLACE, agent_index=COUNTED, status=one_of("active", "completed"), error_message=Absent(TEXT)
    ),
}
EVERYWHERE: dict[str, Kind] = {
    "session.status": having(**ALWAYS, status=WORD),
    "session.progress": EVENTS["session.progress"],
}


class Run:
    def __init__(self, session_id: str, events: list[Event], overview: list[Event]) -> None:
        self.session_id = session_id
        self.events = events
        self.overview = overview

    def list_lives(self) -> dict[str, list[Event]]:
        """Everything that was said of each entry of the timeline, in order."""
        lives: dict[str, list[Event]] = defaultdict(list)
        for event in self.events:
            if "event_id" in event:
                lives[event["event_id"]].append(event)
        return lives


@pytest.fixture
async def run(dsn: str, tmp_path: Path) -> Run:
    """A whole investigation, as a subscriber of its channel hears it who was there from the beginning."""
    looked, concluded = asyncio.Event(), asyncio.Event()
    replies = [stall_after(LOOK, _SPOKEN, release=looked), stall_after(CONCLUSION, _SPOKEN, release=concluded)]
    async with asyncio.timeout(60), serve(by_turn(replies)) as model:
        write_config(tmp_path)
        providers = {"script": {"type": "openai", "model": "fake", "base_url": model.base_url}}
        (tmp_path / "llm-providers.yaml").write_text(json.encode_text({"llm_providers": providers}))
        async with (
            open_edge(tmp_path, dsn) as edge,
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
                events += await watcher.hear_until(type="stream.chunk", delta=CONCLUSION.text)
                concluded.set()
                events += await hear_end(watcher, events)
                overviewed = await overview.hear_until(type="session.status", status="completed")
    return Run(session_id, events, overviewed)


async def hear_end(watcher: Watcher, events: list[Event]) -> list[Event]:
    heard = await watcher.hear_until(type="session.status", status="completed")
    if not any(event.get("active_executions") == 0 for event in [*events, *heard]):
        # A sweep may bring the rows before the notification that says the rest.
        heard += await watcher.hear_until(type="session.progress", active_executions=0)
    return heard


async def test_every_event_of_a_run_has_the_fields_of_its_row(run: Run) -> None:
    assert {event["type"] for event in run.events} == EVENTS.keys()
    for event in run.events:
        check(event, EVENTS[event["type"]])
        assert event["session_id"] == run.session_id


async def test_whoever_watches_all_sessions_gets_copies_that_are_not_stored(run: Run) -> None:
    assert {event["type"] for event in run.overview} == EVERYWHERE.keys()
    for event in run.overview:
        check(event, EVERYWHERE[event["type"]])
        assert "db_event_id" not in event


async def test_a_streamed_entry_is_created_empty_grows_and_is_completed(run: Run) -> None:
    lives = [life for life in run.list_lives().values() if life[0]["event_type"] in STREAMED]
    assert {life[0]["event_type"] for life in lives} == {"llm_thinking", "llm_response", "llm_tool_call"}
    for life in lives:
        *before, end = life
        assert end["type"] == "timeline_event.completed"
        created = [event for event in before if event["type"] == "timeline_event.created"]
        check(created, some(having(status=one_of("streaming"), content=EMPTY), least=1))
        assert before[0] in created
        said = "".join(event["delta"] for event in before if event["type"] == "stream.chunk")
        assert end["content"].startswith(said)
        assert len({event["sequence_number"] for event in created}) == 1
        if end["event_type"] == "llm_tool_call":
            check([before[0]["metadata"], end["metadata"]], some(TOOL_CALL))


async def test_a_call_that_failed_ends_as_such_and_says_so(run: Run) -> None:
    ends = [event for event in run.events if event["type"] == "timeline_event.completed"]
    calls = {
        event["metadata"]["tool_name"]: (event["status"], event["metadata"]["is_error"])
        for event in ends
        if event["event_type"] == "llm_tool_call"
    }
    assert calls == {"lookup": ("completed", False), "fail": ("failed", True)}


async def test_what_happens_at_once_is_created_completed_and_never_again_spoken_of(run: Run) -> None:
    lives = [life for life in run.list_lives().values() if life[0]["event_type"] in AT_ONCE]
    assert [[event["type"] for event in life] for life in lives] == [["timeline_event.created"]] * 2
    (final,) = lives[0]
    assert (final["event_type"], final["status"], final["content"]) == (
        "final_analysis",
        "completed",
        "The deck is dry.",
    )


async def test_entries_are_numbered_in_the_order_in_which_they_are_announced(run: Run) -> None:
    numbers = {
        event["event_id"]: event["sequence_number"]
        for event in run.events
        if event["type"] == "timeline_event.created" and "db_event_id" in event
    }
    assert list(numbers.values()) == sorted(set(numbers.values()))
    assert len(numbers) == 8


@pytest.fixture
async def live(dsn: str, config_folder: Path) -> AsyncGenerator[Edge]:
    async with open_edge(config_folder, dsn, most_connections=2) as edge, delivering(edge):
        yield edge


def channel_of(fence: Fence) -> str:
    return f"session:{fence.session_id}"


def overflow_of(fence: Fence) -> Event:
    return {"type": "catchup.overflow", "channel": channel_of(fence), "has_more": True}


async def commit(edge: Edge, fence: Fence, count: int = 1) -> int:
    seq = await commit_events(edge.store, fence, count)
    edge.service.flusher.advance(fence.session_id, seq)
    return seq


async def hear_numbers(watcher: Watcher, count: int) -> list[int]:
    return [(await watcher.hear())["db_event_id"] for _ in range(count)]


async def test_who_missed_too_much_gets_the_first_two_hundred_then_the_word_then_the_present(live: Edge) -> None:
    fence = await add_running(live.store)
    last = await commit(live, fence, CAUGHT_UP)
    async with watching(live) as watcher:
        await watcher.subscribe(channel_of(fence))
        assert await hear_numbers(watcher, CAUGHT_UP) == list(range(1, CAUGHT_UP + 1))
        assert await watcher.hear() == overflow_of(fence)
        await commit(live, fence)
        assert await hear_numbers(watcher, 1) == [last + 1]


async def test_two_hundred_events_are_not_too_many(live: Edge) -> None:
    fence = await add_running(live.store)
    await commit(live, fence, CAUGHT_UP)
    async with watching(live) as watcher:
        await watcher.subscribe(channel_of(fence), last_event_id=2)
        assert await hear_numbers(watcher, CAUGHT_UP) == list(range(3, CAUGHT_UP + 3))
        await expect_silence(watcher)


async def test_who_only_looks_at_a_channel_is_told_the_past_and_not_the_present(live: Edge) -> None:
    fence = await add_running(live.store)
    await commit(live, fence)
    async with watching(live) as watcher, watching(live) as subscriber:
        await subscriber.subscribe(channel_of(fence), last_event_id=3)
        await watcher.say(action="catchup", channel=channel_of(fence), last_event_id=1)
        assert await hear_numbers(watcher, 2) == [2, 3]
        await commit(live, fence)
        assert await hear_numbers(subscriber, 1) == [4]
        await expect_silence(watcher)


async def test_who_only_looks_and_missed_too_much_is_told_so(live: Edge) -> None:
    fence = await add_running(live.store)
    await commit(live, fence, CAUGHT_UP)
    async with watching(live) as watcher:
        await watcher.say(action="catchup", channel=channel_of(fence), last_event_id=0)
        assert await hear_numbers(watcher, CAUGHT_UP) == list(range(1, CAUGHT_UP + 1))
        assert await watcher.hear() == overflow_of(fence)
        await expect_silence(watcher)


async def test_looking_at_all_sessions_shows_nothing_and_at_none_is_refused(live: Edge) -> None:
    async with watching(live) as watcher:
        await watcher.say(action="catchup", channel="sessions", last_event_id=7)
        await expect_silence(watcher)
        channel = f"session:{new_id()}"
        await watcher.say(action="catchup", channel=channel, last_event_id=7)
        refusal = await watcher.hear()
        assert refusal.keys() == {"type", "channel", "message"}
        assert (refusal["type"], refusal["channel"]) == ("subscription.error", channel)


async def test_a_client_that_subscribes_and_catches_up_at_once_misses_nothing(live: Edge) -> None:
    """As a dashboard does that comes back: it tells only the second request how far it had come."""
    fence = await add_running(live.store)
    await commit(live, fence, 5)
    async with watching(live) as watcher:
        for channel in (channel_of(fence), "sessions"):
            await watcher.say(action="subscribe", channel=channel)
            await watcher.say(action="catchup", channel=channel, last_event_id=4)
        heard = await watcher.hear_until(type="subscription.confirmed", channel="sessions")
        await commit(live, fence)
        heard += await watcher.hear_until(db_event_id=8)
    # By its number it knows what it has twice.
    numbers = dict.fromkeys(event["db_event_id"] for event in heard if "db_event_id" in event)
    assert [number for number in numbers if number > 4] == [5, 6, 7, 8]


async def expect_silence(watcher: Watcher) -> None:
    """A ping is answered in its turn: whatever was to be said has been said before."""
    await watcher.say(action="ping")
    assert await watcher.hear() == {"type": "pong"}


async def test_a_replica_takes_so_many_connections_and_tells_others_to_come_later(live: Edge) -> None:
    url = f"ws://127.0.0.1:{live.port}/api/v1/ws"
    async with watching(live) as first:
        async with watching(live):
            async with connect(url, proxy=None) as third:
                assert await Watcher(third).wait_closed() == 1013
            assert third.close_reason == "too many connections"
            await expect_silence(first)

        async def is_let_in() -> bool:
            async with connect(url, proxy=None) as again:
                return (await anext(aiter(again), "")) != ""

        assert await eventually(is_let_in)
