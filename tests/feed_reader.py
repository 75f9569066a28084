"""A subscriber of a session's feed in the test's own process, which outlives every replica."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from midwatch.domain.session import SessionStatus
from midwatch.kit.json import decode
from midwatch.store.engine import Store
from midwatch.store.feed import FEED_CHANNEL, read_positions
from midwatch.timeline.hub import FeedItem, Hub, Subscription
from midwatch.timeline.listen import listen
from tests.waiting import eventually


@dataclass(slots=True, kw_only=True)
class FeedReader:
    store: Store
    session_id: UUID
    stored: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    transient: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    async def read(self, subscription: Subscription) -> None:
        while True:
            item = await subscription.next()
            assert isinstance(item, FeedItem), "the reader fell behind"
            (self.transient if item.seq is None else self.stored).append(decode(item.data))

    @property
    def endings(self) -> list[SessionStatus]:
        statuses = [SessionStatus(event["status"]) for event in self.stored if event["type"] == "session.status"]
        return [status for status in statuses if status.is_terminal]

    async def check_whole(self) -> None:
        """Every stored event once and in order, one of them the session's end, and nothing after it."""
        await eventually(lambda: self.endings)
        async with self.store.connect() as tx:
            last = (await read_positions(tx, [self.session_id]))[self.session_id]
        await eventually(lambda: len(self.stored) >= last)
        assert [event["db_event_id"] for event in self.stored] == list(range(1, last + 1))
        assert len(self.endings) == 1
        assert self.stored[-1]["type"] == "session.status"

    def check_streams_closed(self, *, transient: bool = True) -> None:
        """Whatever was announced as running has been told to be over.

        A replica that is cut off within a second may have announced what nobody else knows of: `transient` is False.
        """
        announced = {
            event["event_id"]
            for event in [*self.stored, *(self.transient if transient else [])]
            if event["type"] == "timeline_event.created" and event["status"] == "streaming"
        }
        over = {event["event_id"] for event in self.stored if event["type"] == "timeline_event.completed"}
        assert announced <= over


@asynccontextmanager
async def reading_feed(store: Store, session_id: UUID) -> AsyncGenerator[FeedReader]:
    """Reads from the first event on."""
    hub = Hub(store)
    reader = FeedReader(store=store, session_id=session_id)
    async with asyncio.TaskGroup() as group, hub.subscribe(session_id, after=0) as subscription:
        tasks = [
            group.create_task(hub.run(), name="hub"),
            group.create_task(listen(store, {FEED_CHANNEL: hub.hear}, on_connected=hub.sweep), name="listen"),
            group.create_task(reader.read(subscription), name="read"),
        ]
        yield reader
        for task in tasks:
            task.cancel()
