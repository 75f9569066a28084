"""The roll call: a replica says that it is there and what it takes on, in time again, and when it leaves."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field, replace

import structlog

from midwatch.domain.errors import StoreUnavailable
from midwatch.queue.lease import LeaseTimes
from midwatch.store.engine import Store
from midwatch.store.replicas import Presence, report_presence, withdraw_presence

log = structlog.get_logger()


@dataclass(slots=True, kw_only=True)
class RollCall:
    store: Store
    presence: Presence
    times: LeaseTimes
    """As long as a lease would, its word holds."""
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def announce_drain(self) -> None:
        self.presence = replace(self.presence, is_draining=True)
        self._changed.set()

    async def run(self) -> None:
        while True:
            self._changed.clear()
            await self._report()
            with suppress(TimeoutError):
                async with asyncio.timeout(self.times.heartbeat.total_seconds()):
                    await self._changed.wait()

    async def withdraw(self) -> None:
        """Best effort: what is not withdrawn is soon no longer believed."""
        with suppress(StoreUnavailable):
            async with self.store.connect() as tx:
                await withdraw_presence(tx, self.presence.owner)

    async def _report(self) -> None:
        try:
            async with self.store.connect() as tx:
                await report_presence(tx, self.presence, lasts=self.times.duration)
        except StoreUnavailable:
            log.warning("presence_not_reported")
