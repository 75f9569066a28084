"""A person stops every change at once, and lifts the stop when it is over. Nothing else lifts it."""

from dataclasses import dataclass
from uuid import UUID

from midwatch.domain.errors import Conflict, Invalid
from midwatch.intake.wake import tell_owner
from midwatch.store.engine import Store
from midwatch.store.stops import Declared, declare_stop, lift_stop
from midwatch.timeline.announce import announce_stop
from midwatch.timeline.flush import Flusher

LONGEST_REASON = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class StopOrder:
    by: str
    reason: str = ""


async def stop_changes(store: Store, flusher: Flusher, order: StopOrder) -> Declared:
    """From here on no change is started; those that are on their way are given up on. Raises Invalid."""
    _check(order)
    if not order.reason.strip():
        raise Invalid("reason must say why", field="reason")
    async with store.begin() as tx:
        declared = await declare_stop(tx, reason=order.reason, by=order.by)
    for session_id in dict.fromkeys(_sessions_of(declared)):
        await tell_owner(store, session_id)
    if declared.is_new:
        announce_stop(flusher, active=True, reason=order.reason, by=order.by)
    return declared


async def allow_changes(store: Store, flusher: Flusher, order: StopOrder) -> None:
    """Raises Invalid, and Conflict when nothing was stopped."""
    _check(order)
    async with store.begin() as tx:
        lifted = await lift_stop(tx, reason=order.reason, by=order.by)
    if lifted is None:
        raise Conflict("no emergency stop is active")
    announce_stop(flusher, active=False, reason=order.reason, by=order.by)


def _check(order: StopOrder) -> None:
    if len(order.reason) > LONGEST_REASON:
        raise Invalid(f"reason may have {LONGEST_REASON} characters", field="reason")


def _sessions_of(declared: Declared) -> list[UUID]:
    return [session_id for session_id, _ in declared.calls]
