"""Taking the next session: first what a dead replica left behind, then the oldest that waits. Or the next question."""

from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from midwatch.kit.clock import Clock, boottime
from midwatch.queue.lease import Lease, LeaseTimes
from midwatch.store.engine import Store
from midwatch.store.leases import Claim, claim_chat, claim_pending, lock_claims, take_over


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

    async def claim(self) -> Lease | None:
        async with self.store.begin() as tx:
            await lock_claims(tx)
            # Not before: waiting for others' claims must not use up a lease that has not begun.
            sent = self.clock()
            claim = await take_over(
                tx, owner=self.owner, pod_id=self.pod_id, lease=self.times.duration
            ) or await claim_pending(tx, owner=self.owner, pod_id=self.pod_id, lease=self.times.duration, cap=self.cap)
        return self._hold(claim, sent)

    async def claim_question(self) -> Lease | None:
        sent = self.clock()
        async with self.store.connect() as tx:
            claim = await claim_chat(tx, owner=self.owner, pod_id=self.pod_id, lease=self.times.duration)
        return self._hold(claim, sent)

    def _hold(self, claim: Claim | None, sent: float) -> Lease | None:
        if claim is None:
            return None
        return Lease(claim=claim, times=self.times, renewed_at=sent, clock=self.clock, on_cancelled=self.on_cancelled)
