"""Fan-out in memory: every subscriber of a session sees every stored event once and in order, and chunks in between.

An event is encoded once and the same bytes go to all. A slow subscriber has a bounded buffer; when it is full the
buffer is dropped and the subscriber is told to catch up. The hub never waits for anybody.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any, Self
from uuid import UUID

import structlog

from midwatch.domain.errors import StoreUnavailable
from midwatch.kit import json
from midwatch.store.driver import Row, Tx
from midwatch.store.engine import Store
from midwatch.store.feed import oldest_event, read_events, read_positions
from midwatch.timeline.flush import APPROVALS, GLOBAL
from midwatch.timeline.render import render_event

CATCHUP_LIMIT = 200
_BUFFER = 1_000
_READ_LIMIT = 500
_SWEEP = 1.0

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedItem:
    """One message to a subscriber, ready to be sent. Transient events have no sequence number."""

    data: bytes
    text: str
    """The same, for those who send text."""
    seq: int | None

    @classmethod
    def of(cls, event: Mapping[str, Any], *, seq: int | None) -> Self:
        data = json.encode(event)
        return cls(data=data, text=data.decode(), seq=seq)


@dataclass(frozen=True, slots=True)
class Overflow:
    """The subscriber has missed stored events and must fetch what it lacks."""


@dataclass(slots=True)
class Subscription:
    session_id: UUID
    position: int
    """The last stored event handed to this subscriber."""
    limit: int = _BUFFER
    deliver: Callable[[FeedItem], bool] | None = None
    """Hands an item over at once; False if it cannot now. Asked only while nothing waits in front of the item."""
    _idle: bool = False
    _items: deque[FeedItem | Overflow] = field(default_factory=deque[FeedItem | Overflow])
    _ready: asyncio.Event = field(default_factory=asyncio.Event)

    def offer(self, item: FeedItem) -> None:
        if item.seq is not None:
            if item.seq <= self.position:
                return
            self.position = item.seq
        # Waking a reader costs more than writing to its socket.
        if self._idle and not self._items and self.deliver is not None and self.deliver(item):
            return
        if len(self._items) >= self.limit:
            self.overflow()
            return
        self._items.append(item)
        self._ready.set()

    def overflow(self) -> None:
        if any(isinstance(item, Overflow) for item in self._items):
            return
        self._items.clear()
        self._items.append(Overflow())
        self._ready.set()

    def skip_to(self, position: int) -> None:
        """What lies between is not told; after what waits already comes the word that something is missing."""
        self.position = position
        self._items.append(Overflow())
        self._ready.set()

    @property
    def waiting(self) -> tuple[FeedItem | Overflow, ...]:
        return tuple(self._items)

    async def next(self) -> FeedItem | Overflow:
        while not self._items:
            self._ready.clear()
            self._idle = True
            try:
                await self._ready.wait()
            finally:
                self._idle = False
        return self._items.popleft()


@dataclass(slots=True)
class _Topic:
    position: int
    subscriptions: list[Subscription] = field(default_factory=list[Subscription])


_Heard = tuple[UUID, int, Sequence[FeedItem]]
"""A session, how far its rows are committed, and what was said after them."""


@dataclass(slots=True)
class Hub:
    store: Store
    sweep_interval: float = _SWEEP
    _topics: dict[UUID, _Topic] = field(default_factory=dict[UUID, _Topic])
    _inbox: deque[_Heard] = field(default_factory=deque[_Heard])
    _wake: asyncio.Event = field(default_factory=asyncio.Event)
    _sweep_due: bool = False

    def hear(self, payload: str) -> None:
        """A notification of some replica's flusher, this one's included."""
        for session, seq, transient in json.decode(payload)[1:]:
            session_id = UUID(session)
            if session_id in self._topics:
                self._inbox.append((session_id, seq, [FeedItem.of(event, seq=None) for event in transient]))
                self._wake.set()

    def sweep(self) -> None:
        """Look at the rows even though nobody said that there is news."""
        self._sweep_due = True
        self._wake.set()

    def miss(self) -> None:
        """Notifications may have been lost. What has rows is read again; who watches all sessions is told to."""
        for subscription in (*self._watchers(GLOBAL), *self._watchers(APPROVALS)):
            subscription.overflow()
        self.sweep()

    async def run(self) -> None:
        while True:
            try:
                async with asyncio.timeout(self.sweep_interval):
                    await self._wake.wait()
            except TimeoutError:
                self._sweep_due = True
            self._wake.clear()
            try:
                await self._deliver()
            except StoreUnavailable:
                log.warning("feed_delivery_failed")
                await asyncio.sleep(self.sweep_interval)
                self.sweep()

    @asynccontextmanager
    async def subscribe(self, session_id: UUID, *, after: int | None = None) -> AsyncGenerator[Subscription]:
        """The backlog after `after`, then live. Without `after`, only what happens from now on."""
        subscription = await self._catch_up(session_id, after)
        # What is committed from here on the hub offers, what was committed meanwhile the sweep brings, and what the
        # subscription has seen already its own position drops.
        with self._joined(subscription):
            self.sweep()
            yield subscription

    async def replay(self, session_id: UUID, *, after: int) -> Sequence[FeedItem | Overflow]:
        """The backlog after `after`, for somebody who does not stay."""
        return (await self._catch_up(session_id, after)).waiting

    @contextmanager
    def subscribe_all(self, channel: UUID = GLOBAL) -> Generator[Subscription]:
        """What is said of all sessions from now on, or of all approvals. Nothing of it is stored."""
        subscription = Subscription(channel, position=0)
        with self._joined(subscription):
            yield subscription

    @contextmanager
    def _joined(self, subscription: Subscription) -> Generator[None]:
        topic = self._topics.setdefault(subscription.session_id, _Topic(position=subscription.position))
        topic.position = min(topic.position, subscription.position)
        topic.subscriptions.append(subscription)
        try:
            yield
        finally:
            topic.subscriptions.remove(subscription)
            if not topic.subscriptions:
                self._topics.pop(subscription.session_id, None)

    async def _catch_up(self, session_id: UUID, after: int | None) -> Subscription:
        async with self.store.connect() as tx:
            position = (await read_positions(tx, [session_id])).get(session_id, 0)
            subscription = Subscription(session_id, position=position if after is None else after)
            if after is not None:
                await self._send_backlog(tx, subscription, after, position)
        return subscription

    async def _send_backlog(self, tx: Tx, subscription: Subscription, after: int, position: int) -> None:
        oldest = await oldest_event(tx, subscription.session_id)
        forgotten = position > after if oldest is None else oldest > after + 1
        # A subscriber of a database that was set back would drop everything up to where it believes to be.
        ahead = after > position
        rows = await read_events(tx, {subscription.session_id: after}, limit=CATCHUP_LIMIT + 1)
        for row in () if forgotten or ahead else rows[:CATCHUP_LIMIT]:
            subscription.offer(FeedItem.of(render_event(row), seq=row["seq"]))
        if forgotten or ahead or len(rows) > CATCHUP_LIMIT:
            subscription.skip_to(position)

    async def _deliver(self) -> None:
        """What was heard, in the order it was said: rows up to a notification's position, then its chunks."""
        inbox, self._inbox = self._inbox, deque[_Heard]()
        heard: dict[UUID, int] = {}
        for session_id, seq, _ in inbox:
            heard[session_id] = max(heard.get(session_id, 0), seq)
        if self._sweep_due and self._topics:
            async with self.store.connect() as tx:
                positions = await read_positions(tx, list(self._topics))
            heard |= {session: max(heard.get(session, 0), seq) for session, seq in positions.items()}
        self._sweep_due = False
        rows = await self._read_rows(heard)
        for session_id, seq, transient in inbox:
            self._offer_rows(session_id, rows, up_to=seq)
            for item in transient:
                self._offer(session_id, item)
        for session_id in rows:
            self._offer_rows(session_id, rows, up_to=None)

    async def _read_rows(self, heard: dict[UUID, int]) -> dict[UUID, deque[Row]]:
        behind = {
            session: topic.position
            for session, seq in heard.items()
            if (topic := self._topics.get(session)) is not None and topic.position < seq
        }
        read: dict[UUID, deque[Row]] = {}
        while behind:
            async with self.store.connect() as tx:
                rows = await read_events(tx, behind, limit=_READ_LIMIT)
            for row in rows:
                read.setdefault(row["session_id"], deque()).append(row)
            if len(rows) < _READ_LIMIT:
                break
            # Ordered by session and sequence: those before the last session are whole.
            last = rows[-1]
            behind = {session: at for session, at in behind.items() if session >= last["session_id"]}
            behind[last["session_id"]] = last["seq"]
        return read

    def _offer_rows(self, session_id: UUID, rows: dict[UUID, deque[Row]], *, up_to: int | None) -> None:
        waiting = rows.get(session_id, deque())
        while waiting and (up_to is None or waiting[0]["seq"] <= up_to):
            row = waiting.popleft()
            self._offer(session_id, FeedItem.of(render_event(row), seq=row["seq"]))

    def _offer(self, session_id: UUID, item: FeedItem) -> None:
        topic = self._topics.get(session_id)
        if topic is not None and item.seq is not None:
            topic.position = max(topic.position, item.seq)
        for subscription in self._watchers(session_id):
            subscription.offer(item)

    def _watchers(self, session_id: UUID) -> Sequence[Subscription]:
        topic = self._topics.get(session_id)
        return () if topic is None else topic.subscriptions
