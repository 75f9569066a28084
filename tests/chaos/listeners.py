"""Readers of all feeds of a run, in a process that outlives every replica; they come back when they were away."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from uuid import UUID

from midwatch.domain.errors import StoreUnavailable
from midwatch.kit.json import decode
from midwatch.store.engine import Store
from midwatch.store.feed import FEED_CHANNEL
from midwatch.timeline.hub import FeedItem, Hub
from midwatch.timeline.listen import listen

_PAUSE = 0.1


@dataclass(slots=True, kw_only=True)
class Listeners:
    hub: Hub
    group: asyncio.TaskGroup
    heard: dict[str, list[tuple[int, str]]] = field(default_factory=dict[str, list[tuple[int, str]]])
    tasks: list[asyncio.Task[None]] = field(default_factory=list[asyncio.Task[None]])

    def follow(self, session_id: str) -> None:
        if session_id not in self.heard:
            self.heard[session_id] = []
            self.tasks.append(self.group.create_task(self._read(session_id), name=f"reader of {session_id}"))

    async def _read(self, session_id: str) -> None:
        heard = self.heard[session_id]
        while True:
            try:
                await self._read_on(session_id, heard)
            except StoreUnavailable:
                await asyncio.sleep(_PAUSE)

    async def _read_on(self, session_id: str, heard: list[tuple[int, str]]) -> None:
        """Returns when it is told that it has fallen behind: then it begins again after the last it heard."""
        async with self.hub.subscribe(UUID(session_id), after=heard[-1][0] if heard else 0) as subscription:
            while isinstance(item := await subscription.next(), FeedItem):
                if item.seq is not None:
                    heard.append((item.seq, decode(item.data)["type"]))


@asynccontextmanager
async def open_listeners(store: Store) -> AsyncGenerator[Listeners]:
    hub = Hub(store)
    async with asyncio.TaskGroup() as group:
        listeners = Listeners(hub=hub, group=group)
        listeners.tasks += [
            group.create_task(hub.run(), name="hub"),
            group.create_task(listen(store, {FEED_CHANNEL: hub.hear}, on_connected=hub.sweep), name="listen"),
        ]
        yield listeners
        for task in listeners.tasks:
            task.cancel()
