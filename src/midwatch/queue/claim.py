"""Taking the next session: first what a dead replica left behind, then the oldest that waits. Or the next question."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TypedDict
from uuid import UUID

from midwatch.kit.clock import Clock, boottime
from midwatch.queue.heartbeats import Heartbeats
from midwatch.queue.lease import Lease, LeaseTimes
from midwatch.store.engine import Store
from midwatch.store.leases import JOURNAL_FORMAT, Claim, claim_chat, claim_pending, lock_claims, take_over


class _Claiming(TypedDict):
    owner: str
    pod_id: str
    lease: timedelta
    journal_format: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimant:
    store: Store
    owner: str
    """New at every start of the process."""
    pod_id: str
    cap: int
    times: LeaseTimes
    clock: Clock = boottime
    on_cancelled: Callable[[UUID], None] = lambda _: None
    """Hears of every part of a held session that a person wants to end, perhaps more than once."""
    journal_format: int = JOURNAL_FORMAT
    """What a newer version has had in hand is left to it."""
    heartbeats: Heartbeats = field(default_factory=Heartbeats)

    async def claim(self) -> Lease | None:
        async with self.store.begin() as tx:
            await lock_claims(tx)
            # Not before: waiting for others' claims must not use up a lease that has not begun.
            sent = self.clock()
            claim = await take_over(tx, **self._as) or await claim_pending(tx, **self._as, cap=self.cap)
        return self._hold(claim, sent)

    async def claim_question(self) -> Lease | None:
        sent = self.clock()
        async with self.store.connect() as tx:
            claim = await claim_chat(tx, **self._as)
        return self._hold(claim, sent)

    @property
    def _as(self) -> "_Claiming":
        return _Claiming(
            owner=self.owner, pod_id=self.pod_id, lease=self.times.duration, journal_format=self.journal_format
        )

    def _hold(self, claim: Claim | None, sent: float) -> Lease | None:
        if claim is None:
            return None
        return Lease(
            claim=claim,
            times=self.times,
            renewed_at=sent,
            clock=self.clock,
            on_cancelled=self.on_cancelled,
            heartbeats=self.heartbeats,
        )
