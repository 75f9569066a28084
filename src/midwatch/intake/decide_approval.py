"""A person says yes or no to a call, or time does: stored first, told afterwards, and whoever waits goes on."""

from contextlib import suppress
from dataclasses import dataclass
from uuid import UUID

from midwatch.domain.errors import Conflict, Invalid, NotFound, StoreUnavailable
from midwatch.safety.approvals import Undecidable
from midwatch.store.approvals import Decided, expire_question, list_overdue, lock_question, settle_question
from midwatch.store.engine import Store
from midwatch.store.parking import Told, describe_decision, tell_decision
from midwatch.store.sessions import wake_decided, wake_workers
from midwatch.timeline.announce import announce_approval, announce_status
from midwatch.timeline.flush import Flusher

LONGEST_REASON = 2_000
_AT_ONCE = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    is_approved: bool
    by: str
    reason: str = ""


async def decide_approval(store: Store, flusher: Flusher, approval_id: UUID, decision: Decision) -> Decided:
    """Raises NotFound, Invalid, and Conflict when the question is no longer open."""
    if len(decision.reason) > LONGEST_REASON:
        raise Invalid(f"reason may have {LONGEST_REASON} characters", field="reason")
    async with store.begin() as tx:
        question = await lock_question(tx, approval_id)
        if question is None:
            raise NotFound("approval", approval_id)
        decided = await settle_question(
            tx, question, is_approved=decision.is_approved, by=decision.by, reason=decision.reason
        )
        if isinstance(decided, Undecidable):
            raise Conflict(f"nobody is waiting for this decision any more: the approval is {decided.state}")
        told = await tell_decision(tx, decided)
    await follow_decision(store, flusher, decided, told)
    return decided


async def expire_approvals(store: Store, flusher: Flusher) -> None:
    """Silence until now is a no to whatever has waited for long enough."""
    while True:
        async with store.connect() as tx:
            overdue = await list_overdue(tx, limit=_AT_ONCE)
        for approval_id in overdue:
            await _expire(store, flusher, approval_id)
        if len(overdue) < _AT_ONCE:
            return


async def _expire(store: Store, flusher: Flusher, approval_id: UUID) -> None:
    async with store.begin() as tx:
        question = await lock_question(tx, approval_id)
        expired = None if question is None else await expire_question(tx, question)
        if expired is None:
            return
        told = await tell_decision(tx, expired)
    await follow_decision(store, flusher, expired, told)


async def follow_decision(store: Store, flusher: Flusher, decided: Decided, told: Told) -> None:
    """After the commit. What is lost of this is found by the next poll, sweep or look."""
    session_id = decided.session_id
    flusher.advance(session_id, told.seq)
    announce_approval(flusher, session_id, describe_decision(decided))
    if told.status is not None:
        announce_status(flusher, session_id, told.status)
    with suppress(StoreUnavailable):
        async with store.connect() as tx:
            await (wake_workers(tx) if told.is_woken else wake_decided(tx, session_id))
