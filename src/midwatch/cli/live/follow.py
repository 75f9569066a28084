"""The events of one session, in order and each once, over a connection that may break.

What is stored is caught up by its number. What cannot be caught up, or came cut, is read again by REST; a server that
lets no WebSocket through is asked again and again instead.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, cast

from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException

from midwatch.cli.live.server import Body, Server, ServerUnreachable
from midwatch.domain.session import SessionStatus
from midwatch.domain.timeline import EventType, TimelineStatus
from midwatch.kit import json
from midwatch.kit.clock import boottime

Event = dict[str, Any]

_FIRST_PAUSE = 0.2
_LAST_PAUSE = 3.0
_PATIENCE = 60.0
"""Seconds without any answer before we stop trying."""
_LARGEST_MESSAGE = 8 * 1024 * 1024
_ENDED = frozenset(status for status in SessionStatus if status.is_terminal)


@dataclass(frozen=True, slots=True)
class Seen:
    """The session as it stands: when following begins, when an agent begins, and after something was missed."""

    session: Body


@dataclass(frozen=True, slots=True)
class Told:
    event: Event


@dataclass(frozen=True, slots=True)
class Lost:
    """The connection is gone; we are trying to get it back."""


@dataclass(frozen=True, slots=True)
class Found:
    """Connected, and subscribed."""


@dataclass(frozen=True, slots=True)
class Ended:
    session: Body


Item = Seen | Told | Lost | Found | Ended


class _Broken(Exception):
    """The server ended the conversation, or said something we cannot use."""


_BREAKS = (OSError, WebSocketException, ServerUnreachable, TimeoutError, _Broken)


@dataclass(slots=True, kw_only=True)
class Follower:
    server: Server
    session_id: str
    patience: float = _PATIENCE
    _last: int = 0
    _executions: set[str] = field(default_factory=set[str])
    _closed: set[str] = field(default_factory=set[str])
    """Entries of the timeline that were told whole."""
    _pause: float = _FIRST_PAUSE
    _answered_at: float = field(default_factory=boottime)

    async def follow(self) -> AsyncGenerator[Item]:
        """The last item is Ended. Raises Invalid when there is no such session, and ServerUnreachable."""
        yield Seen(await self.server.show(self.session_id))
        while True:
            try:
                async with aclosing(self._listen()) as items:
                    async for item in items:
                        yield item
                        if isinstance(item, Ended):
                            return
            except _BREAKS:
                yield Lost()
            async with aclosing(self._look_again()) as items:
                async for item in items:
                    yield item
                    if isinstance(item, Ended):
                        return

    async def _listen(self) -> AsyncGenerator[Item]:
        proxy = None if self.server.is_near else True
        async with connect(self.server.feed_url, proxy=proxy, max_size=_LARGEST_MESSAGE) as socket:
            request = {"action": "subscribe", "channel": f"session:{self.session_id}", "last_event_id": self._last}
            await socket.send(json.encode_text(request))
            async for message in socket:
                self._answered_at = boottime()
                async with aclosing(self._hear(_read_event(message))) as items:
                    async for item in items:
                        yield item
        raise _Broken

    async def _look_again(self) -> AsyncGenerator[Item]:
        await asyncio.sleep(self._pause)
        self._pause = min(self._pause * 2, _LAST_PAUSE)
        try:
            async with aclosing(self._read_again()) as items:
                async for item in items:
                    self._answered_at = boottime()
                    yield item
        except ServerUnreachable:
            if boottime() - self._answered_at > self.patience:
                raise

    async def _hear(self, event: Event) -> AsyncGenerator[Item]:
        match event.get("type"):
            case "connection.established" | "pong":
                return
            case "subscription.confirmed":
                self._pause = _FIRST_PAUSE
                yield Found()
            case "subscription.error" | "error":
                raise _Broken
            case "catchup.overflow":
                # Numbers may have started over. What was told before is known by its id.
                self._last = 0
                async with aclosing(self._read_again()) as items:
                    async for item in items:
                        yield item
            case _:
                async with aclosing(self._take(event)) as items:
                    async for item in items:
                        yield item

    async def _take(self, event: Event) -> AsyncGenerator[Item]:
        number = event.get("db_event_id")
        if event.get("session_id") != self.session_id or (isinstance(number, int) and number <= self._last):
            return
        if event.get("truncated"):
            event = await self._complete(event)
        session = await self._meet(event)
        if isinstance(number, int):
            self._last = number
        if self._is_old(event):
            return
        if session is not None:
            yield Seen(session)
        yield Told(event)
        if event.get("type") == EventType.SESSION_STATUS and event.get("status") in _ENDED:
            yield Ended(await self.server.show(self.session_id))

    async def _meet(self, event: Event) -> Body | None:
        """The session, when the event speaks of an execution that we have not seen."""
        execution = event.get("execution_id")
        if not execution or execution in self._executions:
            return None
        session = await self.server.show(self.session_id)
        self._executions.add(execution)
        return session

    async def _complete(self, event: Event) -> Event:
        timeline = await self.server.show_timeline(self.session_id)
        whole = next((entry for entry in timeline if entry.get("event_id") == event.get("event_id")), None)
        return event if whole is None else {**_as_event(whole), **event}

    def _is_old(self, event: Event) -> bool:
        """Whether this entry was told whole before; from now on it was, if it is whole."""
        if event.get("type") not in (EventType.TIMELINE_CREATED, EventType.TIMELINE_COMPLETED):
            return False
        event_id = str(event.get("event_id"))
        if event_id in self._closed:
            return True
        if event.get("status") != TimelineStatus.STREAMING:
            self._closed.add(event_id)
        return False

    async def _read_again(self) -> AsyncGenerator[Item]:
        session = await self.server.show(self.session_id)
        timeline = await self.server.show_timeline(self.session_id)
        yield Seen(session)
        for entry in timeline:
            if entry.get("status") != TimelineStatus.STREAMING and not self._is_old(event := _as_event(entry)):
                yield Told(event)
        if session.get("status") in _ENDED:
            yield Ended(session)


def _read_event(message: str | bytes) -> Event:
    try:
        event = json.decode(message)
    except ValueError:
        event = None
    if not isinstance(event, dict):
        raise _Broken
    return cast("Event", event)


def _as_event(entry: Mapping[str, Any]) -> Event:
    told = {key: value for key, value in entry.items() if key not in ("id", "updated_at")}
    return {"type": EventType.TIMELINE_COMPLETED.value, "timestamp": entry.get("updated_at"), **told}
