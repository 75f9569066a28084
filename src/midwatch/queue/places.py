"""Where one session stands: in somebody's hands, or in line behind others."""

from dataclasses import dataclass
from uuid import UUID

from midwatch.domain.session import RunKind, SessionStatus
from midwatch.queue.standing import Place
from midwatch.store.driver import Tx
from midwatch.store.queues import LeaseReading, QueueReading, count_before, count_pending_before, read_lease, read_queue


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    place: Place
    queue: QueueReading


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    lease: LeaseReading | None = None
    """Of whoever runs it, or ran it last and did not finish."""
    waiting: Waiting | None = None


async def find_standing(tx: Tx, session_id: UUID, *, status: SessionStatus) -> Standing:
    """Of the investigation. One that has ended stands nowhere."""
    if status.is_terminal:
        return Standing()
    if status is SessionStatus.PENDING:
        before = await count_pending_before(tx, session_id)
        place = Place(ahead=before.number, journal_format=before.journal_format)
        return Standing(waiting=Waiting(place=place, queue=await read_queue(tx)))
    lease = await read_lease(tx, session_id)
    return Standing() if lease is None else await _find_held(tx, session_id, lease)


async def find_chat_standing(tx: Tx, session_id: UUID) -> Standing:
    """Of the question that is open, if there is one."""
    lease = await read_lease(tx, session_id)
    if lease is None or lease.kind is not RunKind.CHAT:
        return Standing()
    return await _find_held(tx, session_id, lease)


async def _find_held(tx: Tx, session_id: UUID, lease: LeaseReading) -> Standing:
    held = lease if lease.owner is not None else None
    if not lease.is_expired:
        return Standing(lease=held)
    place = Place(
        ahead=await count_before(tx, session_id), kind=lease.kind, lease=held, journal_format=lease.journal_format
    )
    return Standing(lease=held, waiting=Waiting(place=place, queue=await read_queue(tx)))
