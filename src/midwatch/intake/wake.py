"""Tells workers, here and in other replicas, that there is an alert or a question, or something to be stopped.

The first is told of at once; in a storm one call speaks for all that came since the last. What is stored is stored:
a call that is lost only delays an alert until the next poll.
"""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from uuid import UUID

from midwatch.domain.errors import StoreUnavailable
from midwatch.store.engine import Store
from midwatch.store.sessions import wake_owner, wake_workers

PAUSE = 0.02
"""Seconds between two calls: each costs about as much as taking an alert in."""


@dataclass(frozen=True, slots=True)
class Waker:
    _wanted: asyncio.Event = field(default_factory=asyncio.Event)

    def wake(self) -> None:
        self._wanted.set()

    async def run(self, store: Store) -> None:
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            with suppress(StoreUnavailable):
                async with store.connect() as tx:
                    await wake_workers(tx)
            await asyncio.sleep(PAUSE)


async def tell_workers(store: Store) -> None:
    """After something was put into the queue again: a call that is lost only delays it until the next poll."""
    with suppress(StoreUnavailable):
        async with store.connect() as tx:
            await wake_workers(tx)


async def tell_owner(store: Store, session_id: UUID) -> None:
    """After a request was stored: whoever runs the session sees it at the next heartbeat even if this is lost."""
    with suppress(StoreUnavailable):
        async with store.connect() as tx:
            await wake_owner(tx, session_id)
