"""A client of the WebSocket, over a real socket, and a replica that delivers without working on anything."""

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

from midwatch.kit import json
from midwatch.store.feed import FEED_CHANNEL
from midwatch.store.sessions import WAKE_CHANNEL
from midwatch.timeline.listen import listen
from tests.api.edge import Edge

PATIENCE = 60
Event = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Watcher:
    socket: ClientConnection

    async def say(self, **request: Any) -> None:
        await self.socket.send(json.encode_text(request))

    async def hear(self) -> Event:
        async with asyncio.timeout(PATIENCE):
            message = await self.socket.recv()
        assert isinstance(message, str)
        return json.decode(message)

    async def hear_until(self, **expected: Any) -> list[Event]:
        """Everything up to the first event with these fields, which comes last."""
        heard: list[Event] = []
        while not heard or not expected.items() <= heard[-1].items():
            heard.append(await self.hear())
        return heard

    async def subscribe(self, channel: str, **request: Any) -> None:
        await self.say(action="subscribe", channel=channel, **request)
        assert (await self.hear_until(type="subscription.confirmed"))[-1]["channel"] == channel

    async def wait_closed(self) -> int | None:
        async with asyncio.timeout(PATIENCE):
            await self.socket.wait_closed()
        return self.socket.close_code


@asynccontextmanager
async def watching(edge: Edge, **options: Any) -> AsyncGenerator[Watcher]:
    """Greeted already."""
    url = f"ws://127.0.0.1:{edge.port}/api/v1/ws"
    async with connect(url, proxy=None, compression=None, max_queue=None, **options) as socket:
        watcher = Watcher(socket)
        greeting = await watcher.hear()
        assert greeting == {"type": "connection.established", "connection_id": greeting["connection_id"]}
        yield watcher


@asynccontextmanager
async def delivering(edge: Edge) -> AsyncGenerator[None]:
    """What a replica does for those who watch, and nothing for sessions."""
    service = edge.service
    connected = asyncio.Event()

    def catch_up() -> None:
        service.catch_up()
        connected.set()

    async with asyncio.TaskGroup() as group:
        handlers = {FEED_CHANNEL: service.hub.hear, WAKE_CHANNEL: service.hear_wake}
        tasks = [
            group.create_task(service.flusher.run()),
            group.create_task(service.hub.run()),
            group.create_task(listen(service.store, handlers, on_connected=catch_up)),
        ]
        await connected.wait()
        yield
        for task in tasks:
            task.cancel()


@asynccontextmanager
async def working(edge: Edge) -> AsyncGenerator[None]:
    """The rest of what a replica does, once everybody who watches is in place."""
    async with asyncio.TaskGroup() as group:
        for worker in edge.service.workers:
            group.create_task(worker.serve())
        try:
            yield
        finally:
            edge.service.drain()


async def stay_deaf(edge: Edge, channel: str) -> asyncio.StreamWriter:
    """A client that subscribes and never reads."""
    # A reader with hardly a buffer stops reading from the socket at once.
    reader, writer = await asyncio.open_connection("127.0.0.1", edge.port, limit=1)
    key = "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    head = f"GET /api/v1/ws HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n{key}\r\n"
    writer.write(head.encode())
    assert await reader.read(12) == b"HTTP/1.1 101"
    writer.write(_frame(json.encode({"action": "subscribe", "channel": channel})))
    await writer.drain()
    return writer


def _frame(text: bytes) -> bytes:
    """Masked, as a client must."""
    mask = os.urandom(4)
    assert len(text) < 126
    return bytes([0x81, 0x80 | len(text)]) + mask + bytes(byte ^ mask[i % 4] for i, byte in enumerate(text))
