"""People who watch sessions over the WebSocket of some replica, and of another one when that is gone."""

import asyncio
import random
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

from midwatch.kit import json
from tests.chaos.fleet import Crew

_PAUSE = 0.1
_MISSED = frozenset({"catchup.overflow", "subscription.error"})


@dataclass(slots=True, kw_only=True)
class Watchers:
    crew: Crew
    group: asyncio.TaskGroup
    chance: random.Random
    seen: dict[str, list[tuple[int, str]]] = field(default_factory=dict[str, list[tuple[int, str]]])
    tasks: list[asyncio.Task[None]] = field(default_factory=list[asyncio.Task[None]])

    def follow(self, session_id: str) -> None:
        self.seen[session_id] = []
        self.tasks.append(self.group.create_task(self._watch(session_id), name=f"watcher of {session_id}"))

    async def _watch(self, session_id: str) -> None:
        while True:
            if members := self.crew.answering:
                base = self.chance.choice(members).replica.http.base_url
                with suppress(OSError, TimeoutError, WebSocketException):
                    await self._watch_at(f"ws://{base.host}:{base.port}/api/v1/ws", session_id)
            await asyncio.sleep(_PAUSE)

    async def _watch_at(self, url: str, session_id: str) -> None:
        seen = self.seen[session_id]
        async with connect(url, proxy=None, compression=None, max_queue=None, close_timeout=1) as socket:
            await _subscribe(socket, session_id, after=seen)
            async for message in socket:
                event = json.decode(message)
                if event["type"] in _MISSED:
                    await asyncio.sleep(_PAUSE)
                    await _subscribe(socket, session_id, after=seen)
                elif "db_event_id" in event:
                    seen.append((event["db_event_id"], event["type"]))


async def _subscribe(socket: ClientConnection, session_id: str, *, after: list[tuple[int, str]]) -> None:
    last = after[-1][0] if after else 0
    request = {"action": "subscribe", "channel": f"session:{session_id}", "last_event_id": last}
    await socket.send(json.encode_text(request))


@asynccontextmanager
async def open_watchers(crew: Crew, chance: random.Random) -> AsyncGenerator[Watchers]:
    async with asyncio.TaskGroup() as group:
        watchers = Watchers(crew=crew, group=group, chance=chance)
        yield watchers
        for task in watchers.tasks:
            task.cancel()
