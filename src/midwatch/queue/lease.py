"""Holding a session: heartbeats while it runs, and an end to the run the moment the lease may be lost."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum, auto
from uuid import UUID

import structlog

from midwatch.domain.errors import Draining, LeaseLost, StoreUnavailable
from midwatch.domain.session import SessionStatus, StopReason
from midwatch.kit.clock import Clock, boottime
from midwatch.queue.heartbeats import Heartbeats
from midwatch.store.engine import Store
from midwatch.store.fence import Fence
from midwatch.store.leases import Claim, release_lease
from midwatch.store.sessions import wake_workers

log = structlog.get_logger()


class _Beat(Enum):
    RENEWED = auto()
    CANCELLING = auto()
    LOST = auto()
    OVER = auto()
    UNREACHABLE = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseTimes:
    duration: timedelta = timedelta(seconds=30)
    heartbeat: timedelta = timedelta(seconds=10)

    @property
    def fence_after(self) -> float:
        """Seconds without a renewal after which a run stops itself, well before anybody may take over."""
        return self.duration.total_seconds() * 2 / 3


@dataclass(slots=True, kw_only=True)
class Lease:
    claim: Claim
    times: LeaseTimes
    renewed_at: float
    """When the last successful renewal was *sent*, so never later than the database saw it."""
    clock: Clock = boottime
    on_cancelled: Callable[[UUID], None] = lambda _: None
    """Hears of every part of the session that a person wants to end, perhaps more than once."""
    heartbeats: Heartbeats = field(default_factory=Heartbeats)
    """Shared by all leases of a replica."""
    stop_reason: StopReason | None = None
    draining: bool = False
    ended: bool = False
    """The session is over, or no longer ours: there is nothing left to release."""
    _work: asyncio.Task[None] | None = None
    _poked: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def fence(self) -> Fence:
        return self.claim.fence

    @property
    def session_id(self) -> UUID:
        return self.claim.fence.session_id

    @property
    def remaining(self) -> float:
        return self.renewed_at + self.times.fence_after - self.clock()

    def check(self) -> None:
        if self.stop_reason is StopReason.LOST or self.remaining <= 0:
            raise LeaseLost(f"the lease on session {self.session_id} was not renewed in time")

    def checkpoint(self) -> None:
        if self.draining:
            raise Draining(f"session {self.session_id} goes on elsewhere")

    def stop(self, reason: StopReason) -> None:
        """Cancels the run. The first reason stays, except that losing the lease overrides all."""
        if self.stop_reason is None or reason is StopReason.LOST:
            self.stop_reason = reason
        if reason is StopReason.LOST:
            self.ended = True
        if self._work is not None:
            self._work.cancel()

    def drain(self) -> None:
        """The run stops at its next commit."""
        self.draining = True

    def poke(self) -> None:
        """Something about the session changed: look at once."""
        self._poked.set()

    async def hold(self, store: Store, run: Callable[["Lease"], Awaitable[None]]) -> None:
        """Runs the session under heartbeats. Returns when it ended, was lost, or was given up for others."""
        self._tell_cancelled(self.claim.cancelled)
        async with asyncio.TaskGroup() as group:
            self._work = group.create_task(_shielded_from_bugs(run, self), name=f"run-{self.session_id}")
            beats = group.create_task(self._beat(store), name=f"lease-{self.session_id}")
            watch = group.create_task(self._watch(), name=f"watch-{self.session_id}")
            await asyncio.wait({self._work})
            beats.cancel()
            watch.cancel()
        if not self.ended:
            await self._release(store)

    async def _beat(self, store: Store) -> None:
        usual = self.times.heartbeat.total_seconds()
        pause = usual
        while True:
            await self._pause(pause)
            beat = await self._renew(store) if self.remaining > 0 else _Beat.LOST
            pause = min(1.0, usual) if beat is _Beat.UNREACHABLE else usual
            if beat is _Beat.OVER:
                return
            if beat is _Beat.LOST:
                self._lose()
                return
            if beat is _Beat.CANCELLING and self.stop_reason is None:
                self.stop(StopReason.CANCELLED)

    async def _watch(self) -> None:
        """Stops the run by the clock alone: giving up a renewal that hangs takes a database that answers."""
        while (remaining := self.remaining) > 0:  # noqa: ASYNC110 -- time is all it waits for
            await asyncio.sleep(remaining)
        self._lose()

    def _lose(self) -> None:
        if self.stop_reason is not StopReason.LOST:
            log.warning("lease_lost", session_id=str(self.session_id), epoch=self.fence.epoch)
            self.stop(StopReason.LOST)

    async def _pause(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(min(seconds, max(self.remaining, 0.0))):
                await self._poked.wait()
            self._poked.clear()
        except TimeoutError:
            pass

    async def _renew(self, store: Store) -> _Beat:
        sent = self.clock()
        try:
            async with asyncio.timeout(max(self.remaining, 0.0)):
                renewal = await self.heartbeats.renew(store, self.fence, self.times.duration)
        except (StoreUnavailable, TimeoutError):
            return _Beat.UNREACHABLE
        if renewal is None:
            return _Beat.LOST
        if renewal.is_over:
            return _Beat.OVER
        self.renewed_at = sent
        self._tell_cancelled(renewal.cancelled)
        is_over = renewal.status is SessionStatus.CANCELLING or self.claim.chat_stage_id in renewal.cancelled
        return _Beat.CANCELLING if is_over else _Beat.RENEWED

    def _tell_cancelled(self, parts: Iterable[UUID]) -> None:
        for part in parts:
            self.on_cancelled(part)

    async def _release(self, store: Store) -> None:
        """Best effort: what cannot be released expires by itself."""
        planned = self.draining or self.stop_reason is StopReason.DRAINED
        try:
            async with store.connect() as tx:
                await release_lease(tx, self.fence, planned=planned)
                await wake_workers(tx)
        except StoreUnavailable:
            log.warning("lease_not_released", session_id=str(self.session_id))
        self.ended = True


async def _shielded_from_bugs(run: Callable[[Lease], Awaitable[None]], lease: Lease) -> None:
    try:
        await run(lease)
    except Exception:
        # The boundary of one session: it must not take the other slots with it.
        log.exception("run_crashed", session_id=str(lease.session_id))
