"""Runs that wait for a person: parked without a lease or a slot, and woken by whoever decides.

Parking and deciding both lock the session's row, so that a decision in between is never lost: either the run sees it
and goes on, or whoever decides sees that the run is parked and wakes it.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from uuid import UUID

from midwatch.domain.errors import LeaseLost
from midwatch.domain.session import RunKind, SessionStatus
from midwatch.domain.timeline import EventType
from midwatch.kit import json
from midwatch.kit.ids import new_id
from midwatch.store.approvals import Decided, withdraw_questions
from midwatch.store.cancels import is_cancel_requested
from midwatch.store.driver import Tx
from midwatch.store.fence import Event, Fence, pass_fence, tell

WAITING_FOR = "approval"


class Rest(StrEnum):
    PARKED = "parked"
    GO_ON = "go_on"  # something was decided, or there is something to do after all
    CANCELLED = "cancelled"  # a person wants the run to end


@dataclass(frozen=True, slots=True, kw_only=True)
class Parking:
    rest: Rest
    seq: int | None = None
    """The feed's new sequence number, when something was told."""
    cancelled: frozenset[UUID] = frozenset()
    """Executions that a person wants to end: they must be run in order to end."""


async def park_session(tx: Tx, fence: Fence, *, stage_id: UUID | None = None) -> Parking:
    """Gives the lease up until somebody decides, unless there is something to do. Raises LeaseLost.

    `stage_id` is the question's, when the run is a chat. Rows are locked in the order lease, session, feed.
    """
    held = await tx.fetchval(
        "SELECT true FROM session_leases WHERE session_id = $1 AND epoch = $2 AND expires_at IS NOT NULL "
        "FOR NO KEY UPDATE",
        fence.session_id,
        fence.epoch,
    )
    if not held:
        raise LeaseLost(f"session {fence.session_id} is no longer held under epoch {fence.epoch}")
    status = await tx.fetchval(
        "SELECT status FROM alert_sessions WHERE session_id = $1 FOR NO KEY UPDATE", fence.session_id
    )
    if status == SessionStatus.CANCELLING or (stage_id and await is_cancel_requested(tx, fence.session_id, stage_id)):
        return Parking(rest=Rest.CANCELLED)
    if events := await _withdraw_cancelled(tx, fence.session_id):
        return Parking(rest=Rest.GO_ON, seq=await pass_fence(tx, fence, events))
    # A statement of its own: it must see what was decided while an earlier one waited.
    left = await tx.fetchrow(_WORK_LEFT, fence.session_id)
    cancelled = frozenset[UUID](left["cancelled"]) if left else frozenset[UUID]()
    if left is None or cancelled or left["is_runnable"] or not left["is_waiting"]:
        return Parking(rest=Rest.GO_ON, cancelled=cancelled)
    await _give_up_lease(tx, fence)
    told = [_status_event(SessionStatus.IN_PROGRESS, waiting=True)] if stage_id is None else []
    return Parking(rest=Rest.PARKED, seq=await pass_fence(tx, fence, told))


_WORK_LEFT = """
    WITH open AS (
        SELECT e.execution_id,
               bool_or(c.state = 'started') AS is_started,
               bool_or(c.state = 'waiting_approval' AND a.state = 'waiting') AS is_waiting,
               bool_or(c.state = 'waiting_approval' AND a.state <> 'waiting') AS is_decided
        FROM agent_executions e
        LEFT JOIN tool_calls c ON c.execution_id = e.execution_id AND c.state IN ('started', 'waiting_approval')
        LEFT JOIN approvals a ON a.call_id = c.call_id
        WHERE e.session_id = $1 AND e.status IN ('pending', 'active')
        GROUP BY e.execution_id
    )
    SELECT coalesce(bool_or(is_waiting), false) AS is_waiting,
           coalesce(bool_or(is_started OR is_decided OR is_waiting IS NOT TRUE), true) AS is_runnable,
           ARRAY(SELECT execution_id FROM open JOIN cancel_requests ON target_id = execution_id) AS cancelled
    FROM open
"""


async def _withdraw_cancelled(tx: Tx, session_id: UUID) -> list[Event]:
    """Of calls that a person wanted to end before anybody was asked about them."""
    calls = await tx.fetch(
        """
        SELECT c.call_id FROM cancel_requests r JOIN tool_calls c ON c.call_id = r.target_id
        WHERE r.session_id = $1 AND c.state = 'waiting_approval'
        """,
        session_id,
    )
    withdrawn = [
        question for row in calls for question in await withdraw_questions(tx, session_id, call_id=row["call_id"])
    ]
    return [describe_decision(question) for question in withdrawn]


async def _give_up_lease(tx: Tx, fence: Fence) -> None:
    """The owner's name stays, for whoever wants to know whether a run had begun."""
    await tx.execute(
        """
        WITH lease AS (
            UPDATE session_leases SET
                parked = true, expires_at = NULL, released = false,
                ran_ms = ran_ms + (extract(epoch FROM clock_timestamp() - claimed_at) * 1000)::bigint
            WHERE session_id = $1 RETURNING session_id
        )
        UPDATE alert_sessions s SET waiting_for = $2 FROM lease WHERE s.session_id = lease.session_id
        """,
        fence.session_id,
        WAITING_FOR,
    )


async def is_runnable(tx: Tx, execution_id: UUID) -> bool:
    """Whether an execution that waited can go on: one of its questions was answered."""
    return await tx.fetchval(
        """
        SELECT EXISTS (SELECT FROM tool_calls c JOIN approvals a USING (call_id)
                       WHERE c.execution_id = $1 AND c.state = 'waiting_approval' AND a.state <> 'waiting')
        """,
        execution_id,
    )


async def wake_parked(tx: Tx, session_id: UUID) -> list[Event] | None:
    """What is to be told of it; None when nobody is parked. Only under the lock of the session's row.

    An investigation waits in the queue like a new one; a question waits in its lease. Neither counts as an attempt.
    """
    kind = await tx.fetchval(
        """
        WITH lease AS (
            UPDATE session_leases SET
                parked = false, released = run_kind = 'chat', claimed_at = clock_timestamp(),
                owner = CASE run_kind WHEN 'chat' THEN owner END,
                expires_at = CASE run_kind WHEN 'chat' THEN clock_timestamp() END
            WHERE session_id = $1 AND parked RETURNING session_id, run_kind
        ), session AS (
            UPDATE alert_sessions s SET
                waiting_for = NULL, status = CASE lease.run_kind WHEN 'alert' THEN 'pending' ELSE s.status END
            FROM lease WHERE s.session_id = lease.session_id
        )
        SELECT run_kind FROM lease
        """,
        session_id,
    )
    if kind is None:
        return None
    return [_status_event(SessionStatus.PENDING)] if kind == RunKind.ALERT else []


async def wake_for_cancel(tx: Tx, session_id: UUID) -> bool:
    """Somebody has to end what a person wants to end. Only under the lock of the session's row."""
    woken = await wake_parked(tx, session_id)
    if woken:
        await tell(tx, session_id, woken)
    return woken is not None


async def leave_parked(tx: Tx, session_id: UUID) -> bool:
    """For a run that ends while it waits. Only under the lock of the session's row; False when nobody is parked."""
    left = await tx.fetchval(
        """
        WITH lease AS (
            UPDATE session_leases SET parked = false, owner = NULL WHERE session_id = $1 AND parked RETURNING session_id
        ), session AS (
            UPDATE alert_sessions s SET waiting_for = NULL FROM lease WHERE s.session_id = lease.session_id
        )
        SELECT true FROM lease
        """,
        session_id,
    )
    return bool(left)


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    seq: int
    """The feed's new sequence number."""
    is_woken: bool
    """Somebody has to take the run up again."""
    status: SessionStatus | None = None
    """Of the session, when that has changed."""


async def tell_decision(tx: Tx, decided: Decided) -> Told:
    """Wakes whoever waits for it, and puts it into the session's timeline. Only under the lock of the session's row."""
    woken = await wake_parked(tx, decided.session_id)
    event_id = new_id()
    events = [
        Event(type=EventType.TIMELINE_CREATED, ref=event_id),
        describe_decision(decided),
        *(woken or ()),
    ]
    seq = await tell(tx, decided.session_id, events)
    await _add_entry(tx, decided, event_id=event_id, sequence=seq - len(events) + 1)
    return Told(seq=seq, is_woken=woken is not None, status=SessionStatus.PENDING if woken else None)


def describe_decision(decided: Decided) -> Event:
    payload: dict[str, Any] = {
        "approval_id": str(decided.approval_id),
        "call_id": str(decided.call_id),
        "state": decided.state,
        "decided_by": decided.decided_by,
    }
    return Event(
        type=EventType.APPROVAL_DECIDED, payload=payload | ({"reason": decided.reason} if decided.reason else {})
    )


async def _add_entry(tx: Tx, decided: Decided, *, event_id: UUID, sequence: int) -> None:
    words = f"{decided.tool}: {decided.state} by {decided.decided_by}"
    text = f"{words}: {decided.reason}" if decided.reason else words
    metadata = {"tool_name": decided.tool, **(describe_decision(decided).payload or {})}
    await tx.execute(
        """
        WITH said AS (INSERT INTO texts (session_id, text_id, content) VALUES ($1, $4, $5))
        INSERT INTO timeline_events (event_id, session_id, stage_id, execution_id, sequence_number, event_type, status,
                                     text_id, metadata)
        SELECT $2, $1, e.stage_id, e.execution_id, $3, 'approval_decided', 'completed', $4, $6::jsonb
        FROM tool_calls c JOIN agent_executions e USING (execution_id) WHERE c.call_id = $7
        """,
        decided.session_id,
        event_id,
        sequence,
        new_id(),
        text,
        json.encode_text(metadata),
        decided.call_id,
    )


def _status_event(status: SessionStatus, *, waiting: bool = False) -> Event:
    payload = {"status": status} | ({"waiting_for": WAITING_FOR} if waiting else {})
    return Event(type=EventType.SESSION_STATUS, payload=payload)
