"""One flusher per replica tells all others what is new: committed positions and token chunks, every few milliseconds.

NOTIFY takes a lock over the whole cluster at commit, so it is never sent with the rows, and one statement speaks for
all sessions. Losing a notification loses nothing: readers fetch rows by sequence number.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain
from typing import Any
from uuid import UUID

import structlog

from midwatch.domain.errors import StoreUnavailable
from midwatch.domain.timeline import EventType, TimelineType
from midwatch.kit import json
from midwatch.kit.clock import Clock, boottime
from midwatch.store.engine import Store
from midwatch.store.feed import drop_live_texts, keep_live_texts, notify_feed
from midwatch.timeline.render import render_timestamp

GLOBAL = UUID(int=0)
"""Stands where a session's id stands, for what is told to whoever watches all sessions."""

APPROVALS = UUID(int=1)
"""The same, for what is told to whoever watches what waits for a person."""

_INTERVAL = 0.025
_KEEP_INTERVAL = 1.0
_PAYLOAD_LIMIT = 7_500
_ENVELOPE = 12
"""Bytes for a payload's brackets and number."""
_DELTA_LIMIT = 1_100
"""Characters of one chunk: at six bytes each it still fits a notification."""

log = structlog.get_logger()


@dataclass(slots=True)
class LiveStream:
    """A text that is being streamed. Nothing of it is journalled before it is whole."""

    event_id: UUID
    session_id: UUID
    stage_id: UUID
    execution_id: UUID
    event_type: TimelineType
    epoch: int
    """Of the lease under which it runs."""
    sequence_number: int = 1
    """Where it will stand in the timeline, unless something else is told before it is whole."""
    metadata: Mapping[str, Any] | None = None
    parts: list[str] = field(default_factory=list[str])
    dirty: bool = False
    kept: bool = False


@dataclass(slots=True)
class News:
    """How far a session's rows are committed, and what was said since."""

    seq: int = 0
    transient: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    earlier: list["News"] = field(default_factory=list["News"])
    """What was said before the last of those commits, in order."""

    def advance(self, seq: int) -> None:
        if seq <= self.seq:
            return
        if self.transient:
            self.earlier.append(News(self.seq, self.transient))
            self.transient = []
        self.seq = seq

    def forget(self, event_id: str) -> None:
        for part in (*self.earlier, self):
            part.transient = [event for event in part.transient if event.get("event_id") != event_id]


@dataclass(slots=True)
class Flusher:
    store: Store
    interval: float = _INTERVAL
    clock: Clock = boottime
    _news: dict[UUID, News] = field(default_factory=dict[UUID, News])
    _streams: dict[UUID, LiveStream] = field(default_factory=dict[UUID, LiveStream])
    _over: list[UUID] = field(default_factory=list[UUID])
    _pending: asyncio.Event = field(default_factory=asyncio.Event)
    _kept_at: float = 0.0

    def advance(self, session_id: UUID, seq: int) -> None:
        """Rows of this session are committed up to `seq`."""
        self._of(session_id).advance(seq)

    def send(self, session_id: UUID, event: Mapping[str, Any]) -> None:
        """An event that is not stored; whoever is not watching misses it."""
        self._of(session_id).transient.append(_stamped(session_id, event))

    def broadcast(self, session_id: UUID, event: Mapping[str, Any]) -> None:
        """The same to whoever watches all sessions."""
        self._of(GLOBAL).transient.append(_stamped(session_id, event))

    def tell_approvers(self, session_id: UUID, event: Mapping[str, Any]) -> None:
        """The same to whoever watches what waits for a person."""
        self._of(APPROVALS).transient.append(_stamped(session_id, event))

    def tell_everybody(self, event: Mapping[str, Any]) -> None:
        """Of no session in particular: to whoever watches all sessions, or what waits for a person."""
        stamped = {"timestamp": render_timestamp(datetime.now(UTC)), **event}
        for channel in (GLOBAL, APPROVALS):
            self._of(channel).transient.append(stamped)

    def open_stream(self, stream: LiveStream) -> None:
        self._streams[stream.event_id] = stream
        self.send(
            stream.session_id,
            {
                "type": EventType.TIMELINE_CREATED,
                "event_id": str(stream.event_id),
                "stage_id": str(stream.stage_id),
                "execution_id": str(stream.execution_id),
                "event_type": stream.event_type,
                "status": "streaming",
                "content": "",
                "sequence_number": stream.sequence_number,
                **({"metadata": stream.metadata} if stream.metadata else {}),
            },
        )

    def stream(self, stream: LiveStream, delta: str) -> None:
        stream.parts.append(delta)
        stream.dirty = True
        event_id = str(stream.event_id)
        transient = self._of(stream.session_id).transient
        last = transient[-1] if transient else None
        if last is not None and last.get("event_id") == event_id and "delta" in last:
            last["delta"] += delta
        else:
            self.send(stream.session_id, {"type": EventType.STREAM_CHUNK, "event_id": event_id, "delta": delta})

    def close_stream(self, stream: LiveStream) -> None:
        """Its whole text is about to be told as a stored event; parts not yet sent would come after it."""
        self._streams.pop(stream.event_id, None)
        if (news := self._news.get(stream.session_id)) is not None:
            news.forget(str(stream.event_id))
        if stream.kept:
            self._over.append(stream.event_id)
            self._pending.set()

    def cut_streams(self, session_id: UUID, *, execution_id: UUID | None = None) -> list[LiveStream]:
        """Takes away what the session, or one execution of it, still streams.

        What was kept of it stays, for whoever tells of its end.
        """
        cut = [
            stream
            for stream in self._streams.values()
            if stream.session_id == session_id and execution_id in (None, stream.execution_id)
        ]
        for stream in cut:
            del self._streams[stream.event_id]
        return cut

    async def run(self) -> None:
        while True:
            await self._wait()
            await asyncio.sleep(self.interval)
            self._pending.clear()
            try:
                await self.flush()
            except StoreUnavailable:
                log.warning("feed_flush_failed")

    async def _wait(self) -> None:
        """Until there is news, or until a stream that fell silent is due to be kept."""
        unkept = any(stream.dirty for stream in self._streams.values())
        with suppress(TimeoutError):
            async with asyncio.timeout(_KEEP_INTERVAL if unkept else None):
                await self._pending.wait()

    async def flush(self) -> None:
        news, self._news = self._news, {}
        over, self._over = self._over, []
        async with self.store.connect() as tx:
            if news:
                await notify_feed(tx, pack(news))
            if over:
                await drop_live_texts(tx, over)
            if self.clock() - self._kept_at >= _KEEP_INTERVAL:
                self._kept_at = self.clock()
                if rows := self._unkept():
                    await keep_live_texts(tx, rows)

    def _unkept(self) -> list[tuple[UUID, UUID, int, UUID, UUID, str, str]]:
        rows: list[tuple[UUID, UUID, int, UUID, UUID, str, str]] = []
        for stream in self._streams.values():
            if stream.dirty:
                stream.dirty, stream.kept = False, True
                text = json.clean_text("".join(stream.parts))
                stream.parts[:] = [text]
                place = (stream.event_id, stream.session_id, stream.epoch, stream.stage_id, stream.execution_id)
                rows.append((*place, stream.event_type, text))
        return rows

    def _of(self, session_id: UUID) -> News:
        self._pending.set()
        news = self._news.get(session_id)
        if news is None:
            news = self._news[session_id] = News()
        return news


def _stamped(session_id: UUID, event: Mapping[str, Any]) -> dict[str, Any]:
    return {"session_id": str(session_id), "timestamp": render_timestamp(datetime.now(UTC)), **event}


def pack(news: Mapping[UUID, News]) -> list[str]:
    """As few payloads as fit: each a number, then lists of [session, sequence, transient events].

    Of notifications in one transaction that are the same PostgreSQL delivers one: the number keeps them apart.
    """
    payloads: list[str] = []
    entries: list[str] = []
    size = _ENVELOPE
    parts = ((session_id, part) for session_id, item in news.items() for part in (*item.earlier, item))
    for entry in (entry for session_id, part in parts for entry in _entries(session_id, part)):
        if entries and size + len(entry.encode()) + 1 > _PAYLOAD_LIMIT:
            payloads.append(_payload(len(payloads), entries))
            entries, size = [], _ENVELOPE
        entries.append(entry)
        size += len(entry.encode()) + 1
    payloads.append(_payload(len(payloads), entries))
    return payloads


def _payload(number: int, entries: list[str]) -> str:
    return f"[{number},{','.join(entries)}]"


def _entries(session_id: UUID, item: News) -> list[str]:
    """The position goes first: rows up to it are sent before chunks that came after them."""
    entries: list[str] = []
    events: list[str] = []
    size = 0
    for event in chain.from_iterable(map(_pieces, item.transient)):
        encoded = json.encode_text(event)
        length = len(encoded.encode())
        if length > _PAYLOAD_LIMIT - 200:
            log.warning("transient_event_too_large", type=event.get("type"))
            continue
        if events and size + length > _PAYLOAD_LIMIT - 200:
            entries.append(_entry(session_id, item.seq, events))
            events, size = [], 0
        events.append(encoded)
        size += length + 1
    entries.append(_entry(session_id, item.seq, events))
    return entries


def _entry(session_id: UUID, seq: int, events: list[str]) -> str:
    return f'["{session_id}",{seq},[{",".join(events)}]]'


def _pieces(event: dict[str, Any]) -> list[dict[str, Any]]:
    delta = event.get("delta")
    if not isinstance(delta, str) or len(delta) <= _DELTA_LIMIT:
        return [event]
    return [event | {"delta": delta[at : at + _DELTA_LIMIT]} for at in range(0, len(delta), _DELTA_LIMIT)]
