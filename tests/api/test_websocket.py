"""Watching over a WebSocket: everything that is stored, once and in order, and nobody who can hold up the others."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any
from uuid import UUID

import psutil
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from midwatch.domain.timeline import TimelineType
from midwatch.kit.ids import new_id
from midwatch.store.fence import Fence
from midwatch.store.journal import Batch, commit_batch
from midwatch.timeline.entries import add_entry
from tests.api.edge import Edge, open_edge
from tests.api.watcher import Event, Watcher, delivering, stay_deaf, watching
from tests.stored import add_running, commit_events
from tests.waiting import eventually


@pytest.fixture
async def live(dsn: str, config_folder: Path) -> AsyncGenerator[Edge]:
    """An edge whose feed is delivered, with nobody who works on sessions."""
    async with open_edge(config_folder, dsn, write_seconds=0.4) as edge, delivering(edge):
        yield edge


async def commit(edge: Edge, fence: Fence, count: int = 1) -> int:
    seq = await commit_events(edge.store, fence, count)
    edge.service.flusher.advance(fence.session_id, seq)
    return seq


def channel_of(fence: Fence) -> str:
    return f"session:{fence.session_id}"


def numbers(events: list[Event]) -> list[int]:
    return [event["db_event_id"] for event in events if "db_event_id" in event]


def count_watchers(edge: Edge) -> dict[UUID, int]:
    topics = edge.service.hub._topics  # pyright: ignore[reportPrivateUsage] -- what is left behind shows nowhere else
    return {session: len(topic.subscriptions) for session, topic in topics.items()}


def list_tasks() -> set[str]:
    return {task.get_name() for task in asyncio.all_tasks() if task.get_name().startswith(("pump-", "websocket-"))}


async def test_a_subscriber_is_confirmed_then_told_the_past_then_the_present(live: Edge) -> None:
    fence = await add_running(live.store)
    await commit(live, fence, 2)
    async with watching(live) as watcher:
        await watcher.say(action="subscribe", channel=channel_of(fence))
        assert await watcher.hear() == {"type": "subscription.confirmed", "channel": channel_of(fence)}
        assert numbers(await watcher.hear_until(db_event_id=4)) == [1, 2, 3, 4]
        await commit(live, fence)
        assert numbers(await watcher.hear_until(db_event_id=5)) == [5]


async def test_who_comes_back_misses_nothing_and_sees_nothing_twice_while_more_is_committed(live: Edge) -> None:
    fence = await add_running(live.store)
    seen = [1, 2]

    async def write() -> None:
        for _ in range(40):
            await commit(live, fence)

    async with asyncio.TaskGroup() as group:
        group.create_task(write())
        while seen[-1] < 42:
            async with watching(live) as watcher:
                await watcher.subscribe(channel_of(fence), last_event_id=seen[-1])
                target = min(seen[-1] + 7, 42)
                seen += numbers(await watcher.hear_until(db_event_id=target))
    assert seen == list(range(1, 43))


async def test_who_believes_to_be_further_than_the_database_is_told_to_start_over(live: Edge) -> None:
    fence = await add_running(live.store)
    async with watching(live) as watcher:
        await watcher.subscribe(channel_of(fence), last_event_id=1_000)
        assert (await watcher.hear())["type"] == "catchup.overflow"
        await commit(live, fence)
        assert numbers(await watcher.hear_until(db_event_id=3)) == [3]


async def test_a_subscriber_may_catch_up_again_without_another_confirmation(live: Edge) -> None:
    fence = await add_running(live.store)
    async with watching(live) as watcher:
        await watcher.subscribe(channel_of(fence), last_event_id=2)
        await watcher.say(action="catchup", channel=channel_of(fence), last_event_id=1)
        assert numbers([await watcher.hear()]) == [2]
        await commit(live, fence)
        assert numbers([await watcher.hear()]) == [3]


async def test_who_has_unsubscribed_hears_no_more(live: Edge) -> None:
    fence = await add_running(live.store)
    async with watching(live) as watcher, watching(live) as other:
        for each in (watcher, other):
            await each.subscribe(channel_of(fence), last_event_id=2)
        await watcher.say(action="unsubscribe", channel=channel_of(fence))
        await expect_pong(watcher)
        await commit(live, fence)
        assert numbers(await other.hear_until(db_event_id=3)) == [3]
        await expect_pong(watcher)


async def expect_pong(watcher: Watcher) -> None:
    await watcher.say(action="ping")
    assert await watcher.hear() == {"type": "pong"}


@pytest.mark.parametrize(
    ("channel", "says"),
    [
        ("weather", "no such channel"),
        ("", "no such channel"),
        ("session:", "no such channel"),
        ("session:x", "no such channel"),
        ("sessions:x", "no such channel"),
        pytest.param(f"session:{new_id()}", "no such session", id="a session that is not there"),
        (f"session:{UUID(int=0)}", "no such session"),
    ],
)
async def test_a_channel_that_is_not_there_is_refused_and_the_connection_goes_on(
    live: Edge, channel: str, says: str
) -> None:
    async with watching(live) as watcher:
        await watcher.say(action="subscribe", channel=channel)
        refusal = await watcher.hear()
        assert refusal == {"type": "subscription.error", "channel": channel, "message": refusal["message"]}
        assert says in refusal["message"]
        await expect_pong(watcher)
    assert count_watchers(live) == {}


GARBAGE: list[str | bytes] = [
    b"\x00\x01",
    b'{"action": "ping"}',
    "",
    "ping",
    "null",
    "[]",
    "{}",
    "[" * 4_000,
    '{"action":' * 300,
    '{"action": "dance"}',
    '{"action": ["ping"]}',
    '{"action": "subscribe"}',
    '{"action": "subscribe", "channel": 7}',
    '{"action": "subscribe", "channel": "session:%s"}' % ("x" * 200),
    '{"action": "subscribe", "channel": "sessions", "last_event_id": -1}',
    '{"action": "subscribe", "channel": "sessions", "last_event_id": true}',
    '{"action": "subscribe", "channel": "sessions", "last_event_id": "3"}',
    '{"action": "subscribe", "channel": "sessions", "last_event_id": 9223372036854775808}',
    '{"action": "ping", "filler": "%s"}' % ("x" * 4_096),
    '{"action": "ping", "filler": "\\ud800"}',
]


async def test_garbage_is_answered_with_what_is_wrong_with_it(live: Edge) -> None:
    async with watching(live) as watcher:
        for garbage in GARBAGE:
            await watcher.socket.send(garbage)
            answer = await watcher.hear()
            assert answer == {"type": "error", "message": answer["message"]}, garbage
        await expect_pong(watcher)


async def test_too_much_garbage_ends_the_connection_and_no_other(live: Edge) -> None:
    async with watching(live) as calm, watching(live) as noisy:
        with pytest.raises(ConnectionClosed):
            await send_and_listen(noisy, "garbage", times=1_000)
        assert await noisy.wait_closed() == 1008
        await expect_pong(calm)


async def send_and_listen(watcher: Watcher, text: str, *, times: int) -> None:
    for _ in range(times):
        await watcher.socket.send(text)
        await watcher.hear()


@pytest.mark.parametrize(
    ("message", "code"), [("x" * 9_000, 1009), (iter(["x" * 5_000, "x" * 5_000]), 1009)], ids=["whole", "in parts"]
)
async def test_a_message_that_is_far_too_long_ends_the_connection(live: Edge, message: Any, code: int) -> None:
    async with watching(live) as calm, watching(live) as loud:
        await loud.socket.send(message)
        assert await loud.wait_closed() == code
        await expect_pong(calm)


async def test_text_that_is_not_unicode_ends_the_connection(live: Edge) -> None:
    async with watching(live) as calm, watching(live) as loud:
        await loud.socket.send(b"\xff\xfe", text=True)
        assert await loud.wait_closed() == 1007
        await expect_pong(calm)


async def test_a_thousand_subscriptions_to_one_channel_are_one(live: Edge) -> None:
    async with watching(live) as watcher:
        for _ in range(1_000):
            await watcher.subscribe("sessions")
        assert count_watchers(live) == {UUID(int=0): 1}
        assert len(list_tasks()) == 2


SUBSCRIBE_TO_NOTHING = f'{{"action": "subscribe", "channel": "session:{new_id()}"}}'


async def test_ten_thousand_subscriptions_are_cut_off(live: Edge) -> None:
    async with watching(live) as calm, watching(live) as greedy:
        with pytest.raises(ConnectionClosed):
            await send_and_listen(greedy, SUBSCRIBE_TO_NOTHING, times=10_000)
        assert await greedy.wait_closed() == 1008
        await expect_pong(calm)


async def test_a_connection_may_have_a_hundred_subscriptions(live: Edge) -> None:
    channels = [channel_of(await add_running(live.store)) for _ in range(101)]
    async with watching(live) as watcher:
        for channel in channels[:100]:
            await watcher.subscribe(channel, last_event_id=2)
        await watcher.say(action="subscribe", channel=channels[100])
        assert (await watcher.hear())["type"] == "subscription.error"
        await watcher.say(action="unsubscribe", channel=channels[0])
        await watcher.subscribe(channels[100], last_event_id=2)
        assert len(count_watchers(live)) == 100


async def test_who_never_reads_is_dropped_and_holds_up_nobody(live: Edge) -> None:
    fence = await add_running(live.store)
    async with watching(live) as watcher:
        await watcher.subscribe(channel_of(fence), last_event_id=2)
        deaf = await stay_deaf(live, channel_of(fence))
        await eventually(lambda: count_watchers(live) == {fence.session_id: 2})
        await tell_much(live, fence, watcher)
        await eventually(lambda: count_watchers(live) == {fence.session_id: 1})
        await eventually(lambda: count_connections(live) == 1)
        deaf.close()


def count_connections(edge: Edge) -> int:
    """As the kernel sees it: also a connection that is only waiting to be closed has a descriptor."""
    sockets = psutil.Process().net_connections("tcp")
    return sum(s.status == psutil.CONN_ESTABLISHED and s.laddr[1:] == (edge.port,) for s in sockets)


async def tell_much(edge: Edge, fence: Fence, watcher: Watcher) -> None:
    """More than the kernel keeps for somebody who does not read; whoever does is given all of it."""
    for number in range(3, 303):
        batch = Batch()
        add_entry(batch, TimelineType.ERROR, batch.add_text("x" * 32_000))
        async with edge.store.connect() as tx:
            seq = await commit_batch(tx, fence, batch, stage_id=None, execution_id=None)
        edge.service.flusher.advance(fence.session_id, seq)
        await edge.service.flusher.flush()
        assert (await watcher.hear())["db_event_id"] == number


async def test_who_leaves_leaves_nothing_behind(live: Edge) -> None:
    fence = await add_running(live.store)
    async with watching(live) as politely, watching(live) as suddenly:
        for watcher in (politely, suddenly):
            await watcher.subscribe(channel_of(fence))
            await watcher.subscribe("sessions")
        assert count_watchers(live) == {fence.session_id: 2, UUID(int=0): 2}
        await politely.socket.close()
        suddenly.socket.transport.abort()
        await eventually(lambda: count_watchers(live) == {} and not list_tasks())


async def test_a_replica_that_stops_says_so_and_waits_for_nobody(dsn: str, config_folder: Path) -> None:
    async with AsyncExitStack() as whole:
        replica = await whole.enter_async_context(AsyncExitStack())
        edge = await replica.enter_async_context(open_edge(config_folder, dsn))
        await replica.enter_async_context(delivering(edge))
        fence = await add_running(edge.store)
        watcher = await whole.enter_async_context(watching(edge))
        await watcher.subscribe(channel_of(fence), last_event_id=2)
        deaf = await stay_deaf(edge, channel_of(fence))
        await eventually(lambda: count_watchers(edge) == {fence.session_id: 2})
        await tell_much(edge, fence, watcher)
        began = time.monotonic()
        await replica.aclose()
        assert time.monotonic() - began < 4
        assert await watcher.wait_closed() == 1001
        assert not list_tasks()
        deaf.close()


FOREIGN = [
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://localhost:3000"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Host": "evil.example"},
]


@pytest.mark.parametrize("headers", FOREIGN, ids=str)
async def test_a_page_of_another_origin_may_not_watch(live: Edge, headers: dict[str, str]) -> None:
    request = (
        "GET /api/v1/ws HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    )
    for name, value in ({"Host": f"127.0.0.1:{live.port}"} | headers).items():
        request += f"{name}: {value}\r\n"
    assert b" 403 " in await live.send_raw(f"{request}\r\n".encode())


async def test_our_own_page_may_watch(live: Edge) -> None:
    async with watching(live, origin=f"http://127.0.0.1:{live.port}") as watcher:
        await expect_pong(watcher)


async def test_a_socket_elsewhere_is_refused(live: Edge) -> None:
    with pytest.raises(InvalidStatus):
        await connect(f"ws://127.0.0.1:{live.port}/api/v1/sessions", proxy=None)
    assert (await live.http.get("/api/v1/ws")).status_code == 404
