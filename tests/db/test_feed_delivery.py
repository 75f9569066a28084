"""Watching a session: every stored event once and in order, whatever happens to the notifications."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from uuid import UUID

import pytest

from midwatch.domain.timeline import TimelineType
from midwatch.kit import json
from midwatch.kit.ids import new_id
from midwatch.store.driver import Connection, Pool, Tx
from midwatch.store.engine import Store
from midwatch.store.feed import FEED_CHANNEL, notify_feed, read_live_texts
from midwatch.store.fence import Fence
from midwatch.timeline.flush import Flusher, LiveStream, News, pack
from midwatch.timeline.hub import CATCHUP_LIMIT, FeedItem, Hub, Overflow, Subscription
from midwatch.timeline.listen import listen
from tests.stored import add_running, claim_one, commit_events, expire_lease

LIMIT = 10


@asynccontextmanager
async def running(hub: Hub, *, listening: bool = True) -> AsyncGenerator[asyncio.Semaphore]:
    """A hub at work. The semaphore is released at each connect of its listening connection."""
    connected = asyncio.Semaphore(0)

    def greet() -> None:
        hub.sweep()
        connected.release()

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(hub.run())]
        if listening:
            tasks.append(group.create_task(listen(hub.store, {FEED_CHANNEL: hub.hear}, on_connected=greet)))
            await connected.acquire()
        yield connected
        for task in tasks:
            task.cancel()


async def take(subscription: Subscription, count: int) -> list[FeedItem | Overflow]:
    async with asyncio.timeout(LIMIT):
        return [await subscription.next() for _ in range(count)]


async def take_until(subscription: Subscription, seq: int) -> list[int]:
    """The numbers of stored events up to this one."""
    numbers: list[int] = []
    async with asyncio.timeout(LIMIT):
        while seq not in numbers:
            item = await subscription.next()
            assert isinstance(item, FeedItem)
            numbers += [item.seq] if item.seq is not None else []
    return numbers


async def drop_listeners(tx: Tx) -> None:
    await tx.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid() AND query LIKE 'LISTEN%'"
    )


async def test_a_subscriber_sees_every_event_once_and_in_order_although_connections_die(clean_store: Store) -> None:
    fence = await add_running(clean_store)
    hub, flusher = Hub(clean_store, sweep_interval=0.05), Flusher(clean_store, interval=0.001)

    async def write() -> None:
        for _ in range(20):
            flusher.advance(fence.session_id, await commit_events(clean_store, fence, 2))
            await flusher.flush()

    async with running(hub) as connected, hub.subscribe(fence.session_id) as subscription:
        async with asyncio.TaskGroup() as group:
            for _ in range(4):
                group.create_task(write())
            for _ in range(3):
                async with clean_store.connect() as tx:
                    await drop_listeners(tx)
                async with asyncio.timeout(LIMIT):
                    await connected.acquire()
        assert await take_until(subscription, 162) == list(range(3, 163))


async def test_a_sweep_brings_what_nobody_was_notified_of(clean_store: Store) -> None:
    fence = await add_running(clean_store)
    hub = Hub(clean_store, sweep_interval=0.01)
    async with running(hub, listening=False), hub.subscribe(fence.session_id) as subscription:
        assert await commit_events(clean_store, fence, 3) == 5
        assert await take_until(subscription, 5) == [3, 4, 5]


async def test_a_notification_is_delivered_without_waiting_for_a_sweep(clean_store: Store) -> None:
    fence = await add_running(clean_store)
    hub, flusher = Hub(clean_store, sweep_interval=3600), Flusher(clean_store)
    async with running(hub), hub.subscribe(fence.session_id) as subscription, asyncio.TaskGroup() as group:
        flushing = group.create_task(flusher.run())
        flusher.advance(fence.session_id, await commit_events(clean_store, fence))
        assert await take_until(subscription, 3) == [3]
        flushing.cancel()


@pytest.mark.parametrize("missed", [0, 1, CATCHUP_LIMIT])
async def test_a_subscriber_catches_up_before_it_goes_live(missed: int, clean_store: Store) -> None:
    fence = await add_running(clean_store)
    if missed:
        await commit_events(clean_store, fence, missed)
    hub = Hub(clean_store, sweep_interval=0.01)
    async with running(hub, listening=False), hub.subscribe(fence.session_id, after=2) as subscription:
        await commit_events(clean_store, fence)
        assert await take_until(subscription, missed + 3) == list(range(3, missed + 4))


async def test_a_subscriber_that_missed_too_much_gets_the_beginning_is_told_so_and_goes_live(
    clean_store: Store,
) -> None:
    fence = await add_running(clean_store)
    last = await commit_events(clean_store, fence, CATCHUP_LIMIT + 1)
    hub = Hub(clean_store, sweep_interval=0.01)
    async with running(hub, listening=False), hub.subscribe(fence.session_id, after=2) as subscription:
        assert describe(await take(subscription, CATCHUP_LIMIT)) == list(range(3, CATCHUP_LIMIT + 3))
        assert await take(subscription, 1) == [Overflow()]
        await commit_events(clean_store, fence)
        assert await take_until(subscription, last + 1) == [last + 1]


@pytest.mark.parametrize(("forgotten", "overflows"), [(2, False), (3, True), (5, True)])
async def test_a_subscriber_is_told_when_what_it_missed_is_forgotten(
    forgotten: int, clean_store: Store, *, overflows: bool
) -> None:
    fence = await add_running(clean_store)
    assert await commit_events(clean_store, fence, 3) == 5
    async with clean_store.connect() as tx:
        await tx.execute("DELETE FROM events WHERE seq <= $1", forgotten)
    async with Hub(clean_store).subscribe(fence.session_id, after=2) as subscription:
        (first,) = await take(subscription, 1)
    assert isinstance(first, Overflow) is overflows


async def test_nothing_was_missed_when_all_that_is_forgotten_had_been_seen(clean_store: Store) -> None:
    fence = await add_running(clean_store)
    async with clean_store.connect() as tx:
        await tx.execute("DELETE FROM events")
    hub = Hub(clean_store, sweep_interval=0.01)
    async with running(hub, listening=False), hub.subscribe(fence.session_id, after=2) as subscription:
        await commit_events(clean_store, fence)
        assert await take_until(subscription, 3) == [3]


async def test_a_slow_subscriber_is_told_to_catch_up_and_holds_up_nobody(clean_store: Store) -> None:
    fence = await add_running(clean_store)
    hub = Hub(clean_store, sweep_interval=0.01)
    async with (
        running(hub, listening=False),
        hub.subscribe(fence.session_id) as slow,
        hub.subscribe(fence.session_id) as quick,
    ):
        slow.limit = 4
        await commit_events(clean_store, fence, 6)
        assert await take_until(quick, 8) == [3, 4, 5, 6, 7, 8]
        overflow, after = await take(slow, 2)
        assert overflow == Overflow()
        assert isinstance(after, FeedItem)
        assert after.seq == 8
        await commit_events(clean_store, fence)
        assert await take_until(slow, 9) == [9]


async def test_who_joins_while_others_are_behind_sees_nothing_twice(clean_store: Store) -> None:
    fence = await add_running(clean_store)
    hub = Hub(clean_store, sweep_interval=0.01)
    async with hub.subscribe(fence.session_id) as early:
        await commit_events(clean_store, fence, 3)
        async with hub.subscribe(fence.session_id, after=2) as late, running(hub, listening=False):
            assert await take_until(early, 5) == [3, 4, 5]
            await commit_events(clean_store, fence)
            assert await take_until(late, 6) == [3, 4, 5, 6]


@dataclass(slots=True)
class SlowPool:
    """A pool that keeps its users waiting when they give a connection back."""

    pool: Pool
    is_given_back: asyncio.Event = field(default_factory=asyncio.Event)
    may_go_on: asyncio.Event = field(default_factory=asyncio.Event)

    @asynccontextmanager
    async def acquire(self, *, timeout: float | None = None) -> AsyncGenerator[Connection]:  # noqa: ASYNC109 -- the driver's own signature
        async with self.pool.acquire(timeout=timeout) as connection:
            yield connection
        self.is_given_back.set()
        await self.may_go_on.wait()

    def terminate(self) -> None:
        self.pool.terminate()


@pytest.mark.parametrize("after", [None, 2])
async def test_what_is_told_to_others_while_somebody_joins_is_told_to_the_newcomer_too(
    after: int | None, clean_store: Store
) -> None:
    fence = await add_running(clean_store)
    hub = Hub(clean_store, sweep_interval=0.01)
    async with asyncio.TaskGroup() as group, hub.subscribe(fence.session_id) as early:
        slow = SlowPool(clean_store.pool)
        hub.store = replace(clean_store, pool=slow)
        joining = group.create_task(join(hub, fence, after=after, until=4))
        await slow.is_given_back.wait()
        hub.store = clean_store
        async with running(hub, listening=False):
            await commit_events(clean_store, fence)
            assert await take_until(early, 3) == [3]
            slow.may_go_on.set()
            await commit_events(clean_store, fence)
            assert await joining == [3, 4]


async def join(hub: Hub, fence: Fence, *, after: int | None, until: int) -> list[int]:
    async with hub.subscribe(fence.session_id, after=after) as subscription:
        return await take_until(subscription, until)


async def test_one_event_is_encoded_once_for_all(clean_store: Store) -> None:
    fence = await add_running(clean_store)
    hub = Hub(clean_store, sweep_interval=0.01)
    async with (
        running(hub, listening=False),
        hub.subscribe(fence.session_id) as one,
        hub.subscribe(fence.session_id) as two,
    ):
        await commit_events(clean_store, fence)
        (first,), (second,) = await take(one, 1), await take(two, 1)
    assert isinstance(first, FeedItem)
    assert first is second
    event = json.decode(first.data)
    assert (event["type"], event["db_event_id"], event["status"]) == ("session.status", 3, "in_progress")


async def test_who_leaves_leaves_nothing_behind(clean_store: Store) -> None:
    fence = await add_running(clean_store)
    hub = Hub(clean_store)
    async with hub.subscribe(fence.session_id):
        async with hub.subscribe(fence.session_id):
            pass
        assert list_topics(hub) == [fence.session_id]
    assert list_topics(hub) == []


def list_topics(hub: Hub) -> list[UUID]:
    return list(hub._topics)  # pyright: ignore[reportPrivateUsage] -- what is left behind shows nowhere else


def new_stream(fence: Fence) -> LiveStream:
    return LiveStream(new_id(), fence.session_id, new_id(), new_id(), TimelineType.LLM_RESPONSE, fence.epoch)


def describe(items: list[FeedItem | Overflow]) -> list[int | str]:
    """Numbers of stored events, and the texts of chunks between them."""
    return [
        "overflow" if isinstance(item, Overflow) else item.seq or json.decode(item.data).get("delta", "created")
        for item in items
    ]


async def test_chunks_come_behind_the_rows_that_were_committed_before_them(clean_store: Store) -> None:
    fence = await add_running(clean_store)
    hub, flusher = Hub(clean_store, sweep_interval=3600), Flusher(clean_store)
    stream = new_stream(fence)
    async with running(hub), hub.subscribe(fence.session_id) as subscription:
        flusher.advance(fence.session_id, await commit_events(clean_store, fence, 2))
        flusher.open_stream(stream)
        flusher.stream(stream, "one ")
        flusher.stream(stream, "two ")
        await flusher.flush()
        flusher.stream(stream, "three")
        await flusher.flush()
        assert describe(await take(subscription, 5)) == [3, 4, "created", "one two ", "three"]


async def test_notifications_that_come_together_are_told_in_the_order_they_were_made(clean_store: Store) -> None:
    fence = await add_running(clean_store)
    hub = Hub(clean_store, sweep_interval=3600)
    async with hub.subscribe(fence.session_id) as subscription:
        hear(hub, fence, seq=await commit_events(clean_store, fence))
        hear(hub, fence, delta="part")
        hear(hub, fence, seq=await commit_events(clean_store, fence, 2), delta="next")
        async with running(hub, listening=False):
            assert describe(await take(subscription, 5)) == [3, "part", 4, 5, "next"]


def hear(hub: Hub, fence: Fence, *, seq: int = 0, delta: str | None = None) -> None:
    transient = [] if delta is None else [{"type": "stream.chunk", "delta": delta}]
    for payload in pack({fence.session_id: News(seq=seq, transient=transient)}):
        hub.hear(payload)


async def test_no_part_of_a_text_is_sent_after_the_whole(clean_store: Store) -> None:
    fence = await add_running(clean_store)
    hub, flusher = Hub(clean_store, sweep_interval=3600), Flusher(clean_store)
    whole, other = new_stream(fence), new_stream(fence)
    async with running(hub), hub.subscribe(fence.session_id) as subscription:
        await settle(flusher, fence, subscription)
        for stream in (whole, other):
            flusher.open_stream(stream)
            flusher.stream(stream, "part")
        flusher.close_stream(whole)
        flusher.advance(fence.session_id, await commit_events(clean_store, fence))
        await flusher.flush()
        items = await take(subscription, 3)
    assert describe(items) == ["created", "part", 4]
    told = [json.decode(item.data).get("event_id") for item in items if isinstance(item, FeedItem)]
    assert told[:2] == [str(other.event_id)] * 2


async def test_what_was_said_before_a_commit_is_told_before_it(clean_store: Store) -> None:
    fence = await add_running(clean_store)
    hub, flusher, stream = Hub(clean_store, sweep_interval=3600), Flusher(clean_store), new_stream(fence)
    async with running(hub), hub.subscribe(fence.session_id) as subscription:
        await settle(flusher, fence, subscription)
        flusher.stream(stream, "one")
        flusher.advance(fence.session_id, await commit_events(clean_store, fence))
        flusher.stream(stream, "two")
        flusher.advance(fence.session_id, await commit_events(clean_store, fence, 2))
        flusher.stream(stream, "three")
        await flusher.flush()
        assert describe(await take(subscription, 6)) == ["one", 4, "two", 5, 6, "three"]


async def settle(flusher: Flusher, fence: Fence, subscription: Subscription) -> None:
    """Whoever joins is brought up to date by a sweep; from here on only notifications are left."""
    flusher.advance(fence.session_id, await commit_events(flusher.store, fence))
    await flusher.flush()
    assert await take_until(subscription, 3) == [3]


async def test_what_is_said_of_all_sessions_is_told_to_who_watches_them_all_and_to_nobody_else(
    clean_store: Store,
) -> None:
    fence = await add_running(clean_store)
    hub, flusher = Hub(clean_store, sweep_interval=0.01), Flusher(clean_store)
    async with running(hub), hub.subscribe(fence.session_id) as one:
        with hub.subscribe_all() as everything, hub.subscribe_all() as slow:
            slow.limit = 2
            for number in range(3):
                flusher.broadcast(fence.session_id, {"type": "session.status", "delta": str(number)})
            await flusher.flush()
            assert describe(await take(everything, 3)) == ["0", "1", "2"]
            assert describe(await take(slow, 1)) == ["overflow"]
            hub.miss()
            assert describe(await take(everything, 1)) == ["overflow"]
            assert set(list_topics(hub)) == {fence.session_id, UUID(int=0)}
        await commit_events(clean_store, fence)
        assert describe(await take(one, 1)) == [3]
        assert list_topics(hub) == [fence.session_id]


async def test_who_is_ahead_of_the_database_is_told_to_start_over(clean_store: Store) -> None:
    fence = await add_running(clean_store)
    hub = Hub(clean_store, sweep_interval=0.01)
    async with running(hub, listening=False), hub.subscribe(fence.session_id, after=9) as subscription:
        assert await take(subscription, 1) == [Overflow()]
        await commit_events(clean_store, fence)
        assert await take_until(subscription, 3) == [3]


async def test_a_large_flush_is_sent_in_several_notifications_and_loses_nothing(clean_store: Store) -> None:
    fence = await add_running(clean_store)
    hub, flusher, stream = Hub(clean_store, sweep_interval=3600), Flusher(clean_store), new_stream(fence)
    text = "".join(chr(0x1F300 + number % 500) + "\n\x01" for number in range(8_000))
    async with running(hub), hub.subscribe(fence.session_id) as subscription:
        flusher.stream(stream, text)
        await flusher.flush()
        received = ""
        async with asyncio.timeout(LIMIT):
            while len(received) < len(text):
                item = await subscription.next()
                assert isinstance(item, FeedItem)
                received += json.decode(item.data)["delta"]
    assert received == text


async def test_the_text_of_a_running_stream_is_kept_about_once_a_second(clean_store: Store) -> None:
    fence = await add_running(clean_store)
    now = 100.0
    flusher, stream = Flusher(clean_store, clock=lambda: now), new_stream(fence)
    flusher.open_stream(stream)
    flusher.stream(stream, "one \x00")
    await flusher.flush()
    assert await read_kept(clean_store, fence.session_id) == ["one �"]
    flusher.stream(stream, " two")
    now += 0.9
    await flusher.flush()
    assert await read_kept(clean_store, fence.session_id) == ["one �"]
    now += 0.2
    await flusher.flush()
    assert await read_kept(clean_store, fence.session_id) == ["one � two"]
    flusher.close_stream(stream)
    await flusher.flush()
    assert await read_kept(clean_store, fence.session_id) == []


async def test_nothing_is_kept_for_an_owner_that_was_frozen_until_the_session_went_on_elsewhere(
    clean_store: Store,
) -> None:
    fence = await add_running(clean_store)
    flusher = Flusher(clean_store, clock=lambda: 1_000.0)
    stream = new_stream(fence)
    flusher.open_stream(stream)
    flusher.stream(stream, "too late")
    await expire_lease(clean_store, fence.session_id)
    assert (await claim_one(clean_store)).fence.session_id == fence.session_id
    await flusher.flush()
    async with clean_store.connect() as tx:
        assert await tx.fetchval("SELECT count(*) FROM live_texts") == 0


async def read_kept(store: Store, session_id: UUID) -> list[str]:
    async with store.connect() as tx:
        return [row["content"] for row in await read_live_texts(tx, session_id)]


async def test_a_flusher_and_a_hub_outlive_a_database_that_goes_away(clean_store: Store) -> None:
    fence = await add_running(clean_store)
    hub, flusher = Hub(clean_store, sweep_interval=0.01), Flusher(clean_store, interval=0.001)
    async with running(hub), hub.subscribe(fence.session_id) as subscription, asyncio.TaskGroup() as group:
        flushing = group.create_task(flusher.run())
        async with clean_store.connect() as tx:
            await tx.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        flusher.advance(fence.session_id, await commit_events(clean_store, fence))
        assert await take_until(subscription, 3) == [3]
        flushing.cancel()


async def test_a_notification_that_is_too_long_would_fail(clean_store: Store) -> None:
    """The limit that packing keeps away from is PostgreSQL's own."""
    async with clean_store.connect() as tx:
        await notify_feed(tx, ["x" * 7_999])
        with pytest.raises(Exception, match="payload string too long"):
            await notify_feed(tx, ["x" * 8_000])
