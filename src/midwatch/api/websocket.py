"""One WebSocket connection: what it subscribed to, and a pump for each. It holds no transaction.

A client that does not read is told to catch up once it does, and is dropped when a single message takes too long;
nobody else waits for it.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, cast
from uuid import UUID

import structlog
from starlette.types import Message, Receive, Scope, Send

from midwatch.api.server import SEND_NOW
from midwatch.domain.errors import StoreUnavailable
from midwatch.kit import json
from midwatch.kit.ids import new_id
from midwatch.store.engine import Store
from midwatch.store.readings import session_exists
from midwatch.telemetry.metrics import Meters
from midwatch.telemetry.series import WATCHERS
from midwatch.timeline.flush import APPROVALS, GLOBAL
from midwatch.timeline.hub import FeedItem, Hub, Overflow, Subscription

MOST_CONNECTIONS = 2_000
"""To one replica: each holds a descriptor, and a buffer when it reads slowly."""
MOST_SUBSCRIPTIONS = 100
LARGEST_REQUEST = 4_096
MOST_ERRORS = 50
WRITE_SECONDS = 10.0
_OF_ALL = {"sessions": GLOBAL, "approvals": APPROVALS}
"""Channels that are not of one session. Nothing of them is stored."""
_CHANNELS = "session:<id>, sessions or approvals"
_LONGEST_NAME = 100
_LAST_EVENT = 2**63 - 1
_POLICY_VIOLATION = 1008
_TRY_AGAIN_LATER = 1013

log = structlog.get_logger()


class FeedSocket:
    """The ASGI application behind `/api/v1/ws`.

    It speaks ASGI itself: a feed is one text sent to many, and every layer between would be paid for each of them.
    """

    def __init__(self, *, write_seconds: float = WRITE_SECONDS, most_connections: int = MOST_CONNECTIONS) -> None:
        self._write_seconds = write_seconds
        self._most_connections = most_connections
        self._connections = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if (await receive())["type"] != "websocket.connect":
            return
        await send({"type": "websocket.accept"})
        if self._connections >= self._most_connections:
            log.warning("websocket_refused", connections=self._connections)
            await send({"type": "websocket.close", "code": _TRY_AGAIN_LATER, "reason": "too many connections"})
            return
        meters: Meters = scope["state"]["meters"]
        self._connections += 1
        meters.move(WATCHERS, by=1)
        try:
            await self._serve(scope, receive, send)
        finally:
            self._connections -= 1
            meters.move(WATCHERS, by=-1)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        state = scope["state"]
        try:
            async with asyncio.TaskGroup() as tasks:
                connection = _Connection(
                    hub=state["hub"],
                    store=state["store"],
                    send=send,
                    send_now=_find_send_now(scope),
                    tasks=tasks,
                )
                watchdog = tasks.create_task(connection.watch(self._write_seconds), name="websocket-watchdog")
                await connection.serve(receive)
                watchdog.cancel()
                connection.close()
        except* _TooSlow:
            log.info("websocket_too_slow", seconds=self._write_seconds)
        except* OSError:
            # The server's word for a client that has gone away.
            log.debug("websocket_gone")


class _TooSlow(Exception):
    """The client did not take a message in time."""


class _Refused(Exception):
    """The client asked for something it cannot have; it is told so and may go on."""


class _NotSubscribed(_Refused):
    """It was about a channel."""


@dataclass(slots=True, kw_only=True)
class _Connection:
    hub: Hub
    store: Store
    send: Send
    send_now: Callable[[str], bool]
    tasks: asyncio.TaskGroup
    _pumps: dict[str, asyncio.Task[None]] = field(default_factory=dict[str, asyncio.Task[None]])
    _errors: int = 0
    # One frame at a time: pumps and answers write to the same socket.
    _writing: asyncio.Lock = field(default_factory=asyncio.Lock)
    _writing_since: float | None = None

    async def serve(self, receive: Receive) -> None:
        """Returns when the client has gone, or has made too many mistakes."""
        await self._answer("connection.established", connection_id=str(new_id()))
        while self._errors < MOST_ERRORS:
            message = await receive()
            if message["type"] == "websocket.disconnect":
                return
            await self._take(message)
        await self._close()

    def close(self) -> None:
        for pump in self._pumps.values():
            pump.cancel()

    async def watch(self, seconds: float) -> None:
        """One look now and then at the write under way: a timer for each message would cost as much as the message."""
        now = asyncio.get_running_loop().time
        while True:
            await asyncio.sleep(seconds / 4)
            if self._writing_since is not None and now() - self._writing_since > seconds:
                raise _TooSlow

    async def _take(self, message: Message) -> None:
        channel: str | None = None
        try:
            request = _read_request(message)
            channel = _read_channel(request)
            await self._handle(request.get("action"), channel, after=_read_position(request))
        except _NotSubscribed as refusal:
            self._errors += 1
            await self._answer("subscription.error", channel=channel, message=str(refusal))
        except _Refused as refusal:
            self._errors += 1
            await self._answer("error", message=str(refusal))
        except StoreUnavailable:
            await self._answer("subscription.error", channel=channel, message="the database does not answer; try again")

    async def _handle(self, action: object, channel: str | None, *, after: int) -> None:
        match action, channel:
            case "ping", _:
                await self._answer("pong")
            case "subscribe" | "catchup" | "unsubscribe", None:
                raise _Refused(f"channel is missing: name {_CHANNELS}")
            case "subscribe", str():
                await self._subscribe(channel, after=after)
            case "catchup", str():
                await self._catch_up(channel, after=after)
            case "unsubscribe", str():
                await self._unsubscribe(channel)
            case _:
                raise _Refused("action must be subscribe, unsubscribe, catchup or ping")

    async def _subscribe(self, channel: str, *, after: int) -> None:
        session_id = await self._find(channel)
        if channel not in self._pumps and len(self._pumps) >= MOST_SUBSCRIPTIONS:
            raise _NotSubscribed(f"a connection may have {MOST_SUBSCRIPTIONS} subscriptions")
        await self._unsubscribe(channel)
        await self._start(channel, session_id, after=after, is_new=True)

    async def _catch_up(self, channel: str, *, after: int) -> None:
        """Also for a channel that is only looked at. Of all sessions together nothing is stored."""
        session_id = await self._find(channel)
        if session_id in _OF_ALL.values():
            return
        if channel in self._pumps:
            await self._unsubscribe(channel)
            await self._start(channel, session_id, after=after, is_new=False)
        else:
            for item in await self.hub.replay(session_id, after=after):
                await self._send_item(channel, item)

    async def _find(self, channel: str) -> UUID:
        """The session of the channel, or what stands for all of them."""
        if channel in _OF_ALL:
            return _OF_ALL[channel]
        session_id = _session_in(channel)
        async with self.store.connect() as tx:
            if not await session_exists(tx, session_id):
                raise _NotSubscribed("there is no such session")
        return session_id

    async def _start(self, channel: str, session_id: UUID, *, after: int, is_new: bool) -> None:
        is_open = asyncio.Event()
        pumping = self._pump(channel, session_id, after=after, is_new=is_new, is_open=is_open)
        self._pumps[channel] = self.tasks.create_task(pumping, name=f"pump-{channel}")
        await is_open.wait()

    async def _pump(self, channel: str, session_id: UUID, *, after: int, is_new: bool, is_open: asyncio.Event) -> None:
        try:
            async with self._open(session_id, after=after) as subscription:
                if is_new:
                    await self._answer("subscription.confirmed", channel=channel)
                is_open.set()
                await self._send_all(channel, subscription)
        except StoreUnavailable:
            self._pumps.pop(channel, None)
            await self._answer("subscription.error", channel=channel, message="the database does not answer; try again")
        finally:
            is_open.set()

    @asynccontextmanager
    async def _open(self, session_id: UUID, *, after: int) -> AsyncGenerator[Subscription]:
        if session_id in _OF_ALL.values():
            with self.hub.subscribe_all(session_id) as subscription:
                yield subscription
        else:
            async with self.hub.subscribe(session_id, after=after) as subscription:
                yield subscription

    async def _send_all(self, channel: str, subscription: Subscription) -> None:
        subscription.deliver = lambda item: self.send_now(item.text)
        while True:
            await self._send_item(channel, await subscription.next())

    async def _send_item(self, channel: str, item: FeedItem | Overflow) -> None:
        if isinstance(item, Overflow):
            await self._answer("catchup.overflow", channel=channel, has_more=True)
        else:
            await self._write({"type": "websocket.send", "text": item.text})

    async def _unsubscribe(self, channel: str) -> None:
        pump = self._pumps.pop(channel, None)
        if pump is not None:
            pump.cancel()
            await asyncio.wait({pump})

    async def _answer(self, kind: str, **fields: Any) -> None:
        await self._write({"type": "websocket.send", "text": json.encode_text({"type": kind, **fields})})

    async def _close(self) -> None:
        await self._write({"type": "websocket.close", "code": _POLICY_VIOLATION, "reason": "too many errors"})

    async def _write(self, message: Message) -> None:
        async with self._writing:
            self._writing_since = asyncio.get_running_loop().time()
            try:
                await self.send(message)
            finally:
                self._writing_since = None


def _find_send_now(scope: Scope) -> Callable[[str], bool]:
    extensions: dict[str, Any] = scope.get("extensions") or {}
    return extensions.get(SEND_NOW, {}).get("send", _send_never)


def _send_never(_: str) -> bool:
    return False


def _read_request(message: Message) -> dict[str, Any]:
    text = message.get("text")
    if text is None:
        raise _Refused("send text, not bytes")
    if len(text) > LARGEST_REQUEST:
        raise _Refused(f"a request may have {LARGEST_REQUEST} characters")
    try:
        request = json.decode(text)
    except ValueError:
        request = None
    if not isinstance(request, dict):
        raise _Refused("a request is a JSON object")
    return cast("dict[str, Any]", request)


def _read_channel(request: dict[str, Any]) -> str | None:
    channel = request.get("channel")
    if channel is None:
        return None
    if not isinstance(channel, str) or len(channel) > _LONGEST_NAME:
        raise _Refused(f"channel must be {_CHANNELS}")
    return channel


def _read_position(request: dict[str, Any]) -> int:
    position = request.get("last_event_id") or 0
    if not isinstance(position, int) or isinstance(position, bool) or not 0 <= position <= _LAST_EVENT:
        raise _Refused("last_event_id must be the db_event_id of the last event you have")
    return position


def _session_in(channel: str) -> UUID:
    kind, _, name = channel.partition(":")
    try:
        if kind == "session":
            return UUID(name)
    except ValueError:
        pass
    raise _NotSubscribed(f"there is no such channel: name {_CHANNELS}")
