"""Slots that claim and run sessions. Knows leases and nothing of what happens under them.

Of the idle slots one at a time looks for work, so that waiting costs one query an interval however many slots there
are. The slot that finds something runs it, and the next takes its place.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from uuid import UUID

import structlog

from midwatch.domain.errors import StoreUnavailable
from midwatch.domain.session import StopReason
from midwatch.kit.owned import forget_cancellation
from midwatch.queue.lease import Lease
from midwatch.store.engine import Store

log = structlog.get_logger()

_AFTER_FAILURE = 0.5


@dataclass(slots=True, kw_only=True)
class Worker:
    store: Store
    """Over which leases are kept: never one that runs can use up."""
    claim: Callable[[], Awaitable[Lease | None]]
    run: Callable[[Lease], Awaitable[None]]
    slots: int
    poll_interval: float = 1.0
    poll_jitter: float = 0.5
    drain_time: float = 10.0
    on_claimed: Callable[[Lease], None] = lambda _: None
    live_slots: int = 0
    _leases: dict[UUID, Lease] = field(default_factory=dict[UUID, Lease])
    _wake: asyncio.Event = field(default_factory=asyncio.Event)
    _looking: asyncio.Lock = field(default_factory=asyncio.Lock)
    _stopping: asyncio.Event = field(default_factory=asyncio.Event)
    _closing: bool = False

    @property
    def busy_slots(self) -> int:
        return len(self._leases)

    @property
    def is_stopping(self) -> bool:
        return self._stopping.is_set()

    def wake(self) -> None:
        """There may be something to claim."""
        self._wake.set()

    def poke(self, session_id: UUID) -> None:
        """Something about this session changed; whoever holds it looks at once."""
        lease = self._leases.get(session_id)
        if lease is not None:
            lease.poke()

    def poke_all(self) -> None:
        for lease in self._leases.values():
            lease.poke()

    def drain(self) -> None:
        """All slots stop claiming at once; runs stop at their next commit, or when `drain_time` is over."""
        self._stopping.set()
        self._wake.set()
        for lease in self._leases.values():
            lease.drain()
        asyncio.get_running_loop().call_later(self.drain_time, self._stop_runs)

    async def serve(self) -> None:
        """Returns once drained and every run has ended or been released."""
        async with asyncio.TaskGroup() as group:
            slots = {group.create_task(self._slot(), name=f"slot-{number}") for number in range(self.slots)}
            try:
                await asyncio.wait(slots)
            except asyncio.CancelledError:
                # Seen before the group cancels the slots, so that they can tell an end from a stray cancellation.
                self._closing = True
                raise

    def _stop_runs(self) -> None:
        for lease in list(self._leases.values()):
            lease.stop(StopReason.DRAINED)

    async def _slot(self) -> None:
        self.live_slots += 1
        try:
            while not self._stopping.is_set():
                try:
                    await self._serve_one()
                except asyncio.CancelledError:
                    if self._closing:
                        raise
                    forget_cancellation()
                    log.warning("slot_survived_stray_cancellation")
        finally:
            self.live_slots -= 1

    async def _serve_one(self) -> None:
        lease = await self._next()
        if lease is None:
            return
        self._leases[lease.session_id] = lease
        if self._stopping.is_set():
            lease.drain()
        self.on_claimed(lease)
        try:
            with structlog.contextvars.bound_contextvars(session_id=str(lease.session_id)):
                log.info("session_claimed", epoch=lease.fence.epoch, taken_over=lease.claim.taken_over)
                await lease.hold(self.store, self.run)
        finally:
            self._leases.pop(lease.session_id, None)

    async def _next(self) -> Lease | None:
        """The lock's invariant: at most one claim of this replica is under way."""
        async with self._looking:
            while not self._stopping.is_set():
                self._wake.clear()
                lease = await self._try_claim()
                if lease is not None:
                    return lease
                await self._wait()
        return None

    async def _try_claim(self) -> Lease | None:
        try:
            return await self.claim()
        except StoreUnavailable:
            log.warning("claim_failed")
            await asyncio.sleep(_AFTER_FAILURE)
            return None

    async def _wait(self) -> None:
        jitter = random.uniform(-self.poll_jitter, self.poll_jitter)  # noqa: S311 -- spreads polls, guards nothing
        try:
            async with asyncio.timeout(self.poll_interval + jitter):
                await self._wake.wait()
        except TimeoutError:
            pass
