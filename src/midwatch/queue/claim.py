"""Taking the next session: first what a dead replica left behind, then the oldest that waits."""

from dataclasses import dataclass

from midwatch.domain.session import RunKind
from midwatch.kit.clock import Clock, boottime
from midwatch.queue.lease import Lease, LeaseTimes
from midwatch.store.engine import Store
from midwatch.store.leases import claim_pending, lock_claims, take_over


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimant:
    store: Store
    owner: str
    """New at every start of the process."""
    pod_id: str
    cap: int
    times: LeaseTimes
    clock: Clock = boottime

    async def claim(self) -> Lease | None:
        async with self.store.begin() as tx:
            await lock_claims(tx)
            # Not before: waiting for others' claims must not use up a lease that has not begun.
            sent = self.clock()
            claim = await take_over(
                tx, RunKind.ALERT, owner=self.owner, pod_id=self.pod_id, lease=self.times.duration
            ) or await claim_pending(tx, owner=self.owner, pod_id=self.pod_id, lease=self.times.duration, cap=self.cap)
        return None if claim is None else Lease(claim=claim, times=self.times, renewed_at=sent, clock=self.clock)
