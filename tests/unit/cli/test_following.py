"""Following a session over a connection that breaks, cuts and forgets: each event once, and always an end."""

import asyncio
import socket
from contextlib import AsyncExitStack, aclosing
from typing import Any

import pytest

from midwatch.cli.live.follow import Ended, Follower, Found, Item, Lost, Seen, Told
from midwatch.cli.live.server import NewAlert, ServerUnreachable, connect_server
from midwatch.domain.errors import Invalid
from tests.fakes.feed_server import Event, FeedServer, serve_feed

SESSION = "01a1de01-3d5e-7c8b-80b4-f4ee65ae4be2"
CONFIRMED: Event = {"type": "subscription.confirmed", "channel": f"session:{SESSION}"}


def stored(number: int, kind: str = "interaction.created", **fields: Any) -> Event:
    return {"type": kind, "session_id": SESSION, "db_event_id": number, **fields}


def ending(number: int, status: str = "completed") -> Event:
    return stored(number, "session.status", status=status)


def entry(event_id: str, **fields: Any) -> dict[str, Any]:
    shown = {"id": event_id, "event_id": event_id, "session_id": SESSION, "updated_at": "2026-01-01T00:00:00Z"}
    return shown | {"event_type": "error", "status": "completed", "content": event_id, **fields}


async def follow(server: FeedServer) -> list[Item]:
    async with asyncio.timeout(60), serve_feed(server) as url, connect_server(url) as client:
        follower = Follower(server=client, session_id=SESSION)
        async with aclosing(follower.follow()) as items:
            return [item async for item in items]


def told(items: list[Item]) -> list[Event]:
    return [item.event for item in items if isinstance(item, Told)]


def numbers(items: list[Item]) -> list[int]:
    return [event["db_event_id"] for event in told(items) if "db_event_id" in event]


async def test_a_session_is_followed_from_its_beginning_to_its_end() -> None:
    server = FeedServer(session={"status": "completed"}, acts=[[CONFIRMED, stored(1), ending(2)]])
    items = await follow(server)
    assert [type(item) for item in items] == [Seen, Found, Told, Told, Ended]
    assert server.asked == [{"action": "subscribe", "channel": f"session:{SESSION}", "last_event_id": 0}]


async def test_after_a_break_it_goes_on_behind_the_last_event_and_nothing_is_told_twice() -> None:
    server = FeedServer(
        session={"status": "in_progress"},
        acts=[[CONFIRMED, stored(1), stored(2)], [CONFIRMED, stored(2), stored(3), ending(4)]],
    )
    items = await follow(server)
    assert numbers(items) == [1, 2, 3, 4]
    assert [asked["last_event_id"] for asked in server.asked] == [0, 2]
    assert [type(item) for item in items].count(Lost) == 1


async def test_events_without_a_number_and_of_this_session_are_told_and_those_of_others_are_not() -> None:
    chunk = {"type": "stream.chunk", "session_id": SESSION, "event_id": "e", "delta": "a"}
    server = FeedServer(
        session={"status": "completed"},
        acts=[[CONFIRMED, chunk, {**chunk, "session_id": "another"}, chunk, ending(1)]],
    )
    assert told(await follow(server)) == [chunk, chunk, ending(1)]


async def test_what_came_cut_is_read_again() -> None:
    server = FeedServer(
        session={"status": "completed"},
        timeline=[entry("long", content="all of it", event_type="llm_response")],
        acts=[[CONFIRMED, stored(1, "timeline_event.completed", event_id="long", truncated=True), ending(2)]],
    )
    first = told(await follow(server))[0]
    assert (first["content"], first["event_type"], first["type"]) == (
        "all of it",
        "llm_response",
        "timeline_event.completed",
    )


async def test_who_missed_too_much_reads_the_timeline_and_is_told_each_entry_once() -> None:
    overflow = {"type": "catchup.overflow", "channel": f"session:{SESSION}", "has_more": True}
    server = FeedServer(
        session={"status": "in_progress"},
        timeline=[entry("one"), entry("two"), entry("open", status="streaming")],
        acts=[
            [
                CONFIRMED,
                stored(301, "timeline_event.created", event_id="one", status="completed"),
                overflow,
                stored(7, "timeline_event.completed", event_id="two", status="completed"),
                stored(8, "timeline_event.completed", event_id="open", status="completed"),
                ending(9),
            ]
        ],
    )
    assert [event.get("event_id") for event in told(await follow(server))] == ["one", "two", "open", None]


async def test_a_session_that_ended_while_nobody_listened_ends_here_too() -> None:
    server = FeedServer(session={"status": "failed"}, timeline=[entry("one")], acts=[[CONFIRMED], []])
    items = await follow(server)
    assert [event["event_id"] for event in told(items)] == ["one"]
    assert items[-1] == Ended({"status": "failed"})


async def test_a_server_that_lets_no_websocket_through_is_asked_until_the_end() -> None:
    server = FeedServer(session={"status": "completed"}, timeline=[entry("one")], has_feed=False)
    assert [type(item) for item in await follow(server)] == [Seen, Lost, Seen, Told, Ended]


async def test_the_session_is_looked_at_when_an_agent_begins_and_not_again() -> None:
    server = FeedServer(
        session={"status": "completed"},
        acts=[[CONFIRMED, stored(1, execution_id="x"), stored(2, execution_id="x"), ending(3)]],
    )
    items = await follow(server)
    assert [type(item) for item in items] == [Seen, Found, Seen, Told, Told, Told, Ended]


async def test_a_server_that_is_gone_for_good_is_given_up() -> None:
    server = FeedServer(session={"status": "in_progress"}, acts=[[CONFIRMED]])
    async with asyncio.timeout(60), AsyncExitStack() as stack:
        running = await stack.enter_async_context(AsyncExitStack())
        url = await running.enter_async_context(serve_feed(server))
        client = await stack.enter_async_context(connect_server(url))
        items = await stack.enter_async_context(
            aclosing(Follower(server=client, session_id=SESSION, patience=0).follow())
        )
        assert [type(await anext(items)) for _ in range(2)] == [Seen, Found]
        await running.aclose()
        assert isinstance(await anext(items), Lost)
        with pytest.raises(ServerUnreachable, match="is Midwatch serving there"):
            await anext(items)


async def test_an_alert_is_sent_again_under_its_key_while_the_database_rests() -> None:
    resting = (503, {"message": "the database does not answer", "code": "store_unavailable"})
    server = FeedServer(session={}, answers=[resting, (202, {"session_id": SESSION})])
    async with asyncio.timeout(60), serve_feed(server) as url, connect_server(url) as client:
        assert await client.submit(NewAlert(data="Fog.")) == SESSION
    assert len(server.keys) == 2
    assert len(set(server.keys)) == 1


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ((400, {"message": "no chain takes this", "allowed": ["deck", "engine"]}), "choose one of deck, engine"),
        ((413, {"message": "data has too many bytes", "code": "too_large"}), "too many bytes"),
    ],
)
async def test_what_a_server_refuses_is_said_in_its_words(answer: tuple[int, Any], words: str) -> None:
    server = FeedServer(session={}, answers=[answer])
    async with asyncio.timeout(60), serve_feed(server) as url, connect_server(url) as client:
        with pytest.raises(Invalid, match=words):
            await client.submit(NewAlert(data="Fog."))


@pytest.mark.parametrize("answer", [(200, ["strange"]), (404, {"detail": "Not Found"}), (202, {})])
async def test_a_server_that_is_not_midwatch_is_said_to_be_none(answer: tuple[int, Any]) -> None:
    server = FeedServer(session={}, answers=[answer])
    async with asyncio.timeout(60), serve_feed(server) as url, connect_server(url) as client:
        with pytest.raises(ServerUnreachable, match="does not answer as Midwatch does"):
            await client.submit(NewAlert(data="Fog."))


async def test_nobody_there_is_said_with_the_reason() -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
    async with connect_server(url) as client:
        with pytest.raises(ServerUnreachable, match="Connection refused; is Midwatch serving there"):
            await client.submit(NewAlert(data="Fog."))


@pytest.mark.parametrize("url", ["localhost:8080", "ftp://deck", "http://", "http://deck:99999", "http://[::1"])
async def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(Invalid, match="like http://localhost:8080"):
        async with connect_server(url):
            pass
