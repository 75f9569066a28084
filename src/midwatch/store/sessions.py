"""Sessions: accepted once, cancelled or finished exactly once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from midwatch.domain.errors import LeaseLost
from midwatch.domain.session import SessionStatus, WorkStatus
from midwatch.domain.timeline import EventType
from midwatch.kit import json
from midwatch.kit.ids import new_id
from midwatch.store.approvals import withdraw_questions
from midwatch.store.calls import list_unverified
from midwatch.store.cancels import drop_cancel_requests
from midwatch.store.driver import Tx
from midwatch.store.fence import Event, Fence, Passed, pass_fence, tell
from midwatch.store.leases import JOURNAL_FORMAT, end_lease
from midwatch.store.parking import describe_decision, leave_parked

WAKE_CHANNEL = "midwatch_wake"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSession:
    session_id: UUID
    alert_type: str
    alert_data: str
    chain_id: str
    chain: dict[str, Any]
    author: str | None
    warnings: Sequence[str] = ()
    mcp_selection: dict[str, Any] | None = None
    selected_resources: Sequence[str] = ()
    """Ids that an authenticated person has picked."""
    runbook_url: str | None = None
    slack_message_fingerprint: str | None = None
    idempotency_key: str | None = None
    """Names the request among all of its author."""
    request_digest: bytes | None = None


async def insert_session(tx: Tx, new: NewSession, *, look_back: int = 0) -> int | None:
    """How many sessions wait before it; of more than `look_back` no more are counted.

    Whole or not at all: None when the author has used the key before. Waits for one who is just using it.
    """
    return await tx.fetchval(
        """
        WITH session AS (
            INSERT INTO alert_sessions
                (session_id, alert_type, agent_type, alert_data, status, chain_id, chain, author, warnings,
                 mcp_selection, runbook_url, slack_message_fingerprint, idempotency_key, request_digest,
                 selected_resources)
            VALUES ($1, $2, $2, $3, 'pending', $4, $5::jsonb, $6, $7::jsonb, $8::jsonb, $9, $10, $11, $12, $15)
            ON CONFLICT (author, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING
            RETURNING session_id
        ), lease AS (
            INSERT INTO session_leases (session_id, run_kind, journal_format)
            SELECT session_id, 'alert', $13 FROM session
        ), feed AS (
            INSERT INTO session_feeds (session_id, seq) SELECT session_id, 1 FROM session
        ), mark AS (
            INSERT INTO unindexed_sessions (session_id) SELECT session_id FROM session
        ), told AS (
            INSERT INTO events (session_id, seq, type, payload)
            SELECT session_id, 1, 'session.status', '{"status": "pending"}' FROM session
        )
        SELECT (SELECT count(*) FROM (
            SELECT FROM alert_sessions WHERE status = 'pending' AND deleted_at IS NULL ORDER BY created_at LIMIT $14
        ) before) FROM session
        """,
        new.session_id,
        json.clean_text(new.alert_type),
        json.clean_text(new.alert_data),
        new.chain_id,
        json.encode_text(new.chain),
        None if new.author is None else json.clean_text(new.author),
        json.encode_text(new.warnings),
        None if new.mcp_selection is None else json.encode_text(new.mcp_selection),
        new.runbook_url,
        None if new.slack_message_fingerprint is None else json.clean_text(new.slack_message_fingerprint),
        new.idempotency_key,
        new.request_digest,
        JOURNAL_FORMAT,
        look_back + 1 if look_back else 0,
        list(new.selected_resources),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeated:
    session_id: UUID
    request_digest: bytes


async def find_repeated(tx: Tx, *, author: str | None, key: str | None) -> Repeated | None:
    row = await tx.fetchrow(
        "SELECT session_id, request_digest FROM alert_sessions WHERE author = $1 AND idempotency_key = $2", author, key
    )
    return None if row is None else Repeated(session_id=row["session_id"], request_digest=row["request_digest"])


async def wake_workers(tx: Tx) -> None:
    """A NOTIFY of its own, after the commit it speaks of."""
    await tx.execute("SELECT pg_notify($1, 'queue')", WAKE_CHANNEL)


async def wake_owner(tx: Tx, session_id: UUID) -> None:
    await tx.execute("SELECT pg_notify($1, $2)", WAKE_CHANNEL, f"cancel:{session_id}")


async def wake_decided(tx: Tx, session_id: UUID) -> None:
    """For a run that goes on meanwhile, and may have an agent that waited for this."""
    await tx.execute("SELECT pg_notify($1, $2)", WAKE_CHANNEL, f"decision:{session_id}")


async def add_warnings(tx: Tx, *, fence: Fence, warnings: Sequence[str]) -> int:
    """What the session says already is not said twice."""
    await tx.execute(
        """
        UPDATE alert_sessions s SET warnings = s.warnings || (
            SELECT coalesce(jsonb_agg(new), '[]') FROM jsonb_array_elements($2::jsonb) new
            WHERE NOT s.warnings @> jsonb_build_array(new)
        ) WHERE session_id = $1
        """,
        fence.session_id,
        json.encode_text(warnings),
    )
    return await pass_fence(tx, fence, ())


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelRequest:
    before: SessionStatus
    after: SessionStatus
    seq: int | None
    """The feed's new sequence number when something changed."""
    alert_type: str
    told: tuple[Event, ...] = ()
    """What else was told of it there."""


async def request_cancel(tx: Tx, session_id: UUID) -> CancelRequest | None:
    """A session nobody runs is cancelled at once; a running one is told to stop. None when there is no such session."""
    # A run that updates its feed twice in one transaction has the foreign key checked, which takes a key share lock on
    # the session after the feed. A plain FOR UPDATE would be the other half of a deadlock.
    row = await tx.fetchrow(
        "SELECT status, waiting_for, alert_type FROM alert_sessions WHERE session_id = $1 AND deleted_at IS NULL "
        "FOR NO KEY UPDATE",
        session_id,
    )
    if row is None:
        return None
    before = SessionStatus(row["status"])
    is_parked = before is SessionStatus.IN_PROGRESS and row["waiting_for"] is not None
    events: list[Event] = []
    if before is SessionStatus.PENDING or is_parked:
        after = SessionStatus.CANCELLED
        events = await _cancel_idle(tx, session_id)
    elif before is SessionStatus.IN_PROGRESS:
        after = SessionStatus.CANCELLING
        await tx.execute("UPDATE alert_sessions SET status = 'cancelling' WHERE session_id = $1", session_id)
    else:
        return CancelRequest(before=before, after=before, seq=None, alert_type=row["alert_type"])
    seq = await tell(tx, session_id, [*events, _status_event(after)])
    return CancelRequest(before=before, after=after, seq=seq, told=tuple(events), alert_type=row["alert_type"])


async def _cancel_idle(tx: Tx, session_id: UUID) -> list[Event]:
    """Also of one that has run before, and waits for a person or for somebody to go on with it."""
    await leave_parked(tx, session_id)
    await tx.execute(
        """
        UPDATE alert_sessions SET status = 'cancelled', waiting_for = NULL, completed_at = clock_timestamp(),
               error_message = 'cancelled before it was finished'
        WHERE session_id = $1
        """,
        session_id,
    )
    await note_unverified(tx, session_id)
    events = await close_work(tx, session_id, SessionStatus.CANCELLED)
    await drop_cancel_requests(tx, session_id)
    await _post_terminal(tx, session_id, SessionStatus.CANCELLED)
    return events


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    status: SessionStatus
    error_message: str | None = None
    final_text_id: UUID | None = None
    summary_text_id: UUID | None = None
    summary_error: str | None = None
    """Why there is no summary."""


async def finish_session(tx: Tx, fence: Fence, ending: Ending) -> tuple[SessionStatus, Passed]:
    """The one terminal write: whoever loses the lease before it writes nothing.

    Rows are locked in the order lease, session, feed, as everywhere.
    """
    if not await end_lease(tx, fence):
        raise LeaseLost(f"session {fence.session_id} ended under another owner")
    await note_unverified(tx, fence.session_id)
    status = await _set_terminal(tx, fence, ending)
    events = [*await close_work(tx, fence.session_id, status), _status_event(status)]
    await drop_cancel_requests(tx, fence.session_id)
    await _post_terminal(tx, fence.session_id, status)
    return status, Passed(seq=await pass_fence(tx, fence, events), events=events)


async def _set_terminal(tx: Tx, fence: Fence, ending: Ending) -> SessionStatus:
    status = await tx.fetchval(
        """
        UPDATE alert_sessions SET
            status = CASE WHEN status = 'cancelling' THEN 'cancelled' ELSE $2 END,
            completed_at = clock_timestamp(), waiting_for = NULL, error_message = $3, final_analysis_text_id = $4,
            executive_summary_text_id = $5, executive_summary_error = $6, current_stage_index = NULL,
            current_stage_id = NULL
        WHERE session_id = $1 AND status IN ('in_progress', 'cancelling')
        RETURNING status
        """,
        fence.session_id,
        ending.status,
        ending.error_message,
        ending.final_text_id,
        ending.summary_text_id,
        ending.summary_error,
    )
    if status is None:
        raise LeaseLost(f"session {fence.session_id} had ended already")
    return SessionStatus(status)


_UNVERIFIED = "changed, and not looked at since: "


async def note_unverified(tx: Tx, session_id: UUID) -> None:
    """At every end of a run: what was changed and nobody has looked at, as a list and as a warning."""
    unverified = await list_unverified(tx, session_id)
    await tx.execute(
        """
        UPDATE alert_sessions s SET unverified_targets = $2::jsonb, warnings = $3::jsonb || (
            SELECT coalesce(jsonb_agg(said), '[]') FROM jsonb_array_elements(s.warnings) said
            WHERE NOT starts_with(said #>> '{}', $4)
        ) WHERE session_id = $1 AND unverified_targets <> $2::jsonb
        """,
        session_id,
        json.encode_text(unverified),
        json.encode_text([f"{_UNVERIFIED}{', '.join(unverified)}"] if unverified else []),
        _UNVERIFIED,
    )


OPEN_WORK_ENDS_AS = {
    SessionStatus.COMPLETED: WorkStatus.CANCELLED,
    SessionStatus.FAILED: WorkStatus.FAILED,
    SessionStatus.CANCELLED: WorkStatus.CANCELLED,
    SessionStatus.TIMED_OUT: WorkStatus.TIMED_OUT,
}


async def close_work(tx: Tx, session_id: UUID, status: SessionStatus) -> list[Event]:
    """Children first: what is still open of streams, executions and stages ends as the session does.

    Nobody learns what became of calls that are still open.
    """
    ends_as = OPEN_WORK_ENDS_AS[status]
    withdrawn = await withdraw_questions(tx, session_id)
    streams = await tx.fetch(
        """
        WITH closed AS (
            UPDATE timeline_events SET status = $2::text::timeline_state, updated_at = clock_timestamp()
            WHERE session_id = $1 AND status = 'streaming' RETURNING event_id, call_id
        ), calls AS (
            UPDATE tool_calls c SET state = 'unknown' FROM closed
            WHERE c.call_id = closed.call_id AND c.state IN ('requested', 'waiting_approval', 'started')
        )
        SELECT event_id FROM closed
        """,
        session_id,
        ends_as,
    )
    await tx.execute(
        """
        UPDATE agent_executions SET status = $2, completed_at = clock_timestamp(),
            duration_ms = (extract(epoch FROM clock_timestamp() - started_at) * 1000)::bigint
        WHERE session_id = $1 AND status IN ('pending', 'active')
        """,
        session_id,
        ends_as,
    )
    stages = await tx.fetch(
        """
        UPDATE stages SET status = $2, completed_at = clock_timestamp(),
            duration_ms = (extract(epoch FROM clock_timestamp() - started_at) * 1000)::bigint
        WHERE session_id = $1 AND status IN ('pending', 'active')
        RETURNING stage_id, stage_name, stage_index, stage_type, referenced_stage_id
        """,
        session_id,
        ends_as,
    )
    await tx.execute("DELETE FROM live_texts WHERE session_id = $1", session_id)
    closed = [Event(type=EventType.TIMELINE_COMPLETED, ref=row["event_id"]) for row in streams]
    closed += [describe_decision(question) for question in withdrawn]
    return closed + [
        Event(
            type=EventType.STAGE_STATUS,
            payload={
                "stage_id": str(row["stage_id"]),
                "stage_name": row["stage_name"],
                "stage_index": row["stage_index"],
                "stage_type": row["stage_type"],
                "status": ends_as,
            }
            | ({} if row["referenced_stage_id"] is None else {"referenced_stage_id": str(row["referenced_stage_id"])}),
        )
        for row in stages
    ]


async def _post_terminal(tx: Tx, session_id: UUID, status: SessionStatus) -> None:
    await tx.execute(
        """
        WITH mark AS (INSERT INTO unindexed_sessions (session_id) VALUES ($2))
        INSERT INTO outbox (outbox_id, session_id, kind, payload) VALUES ($1, $2, 'session.terminal', $3::jsonb)
        """,
        new_id(),
        session_id,
        json.encode_text({"status": status}),
    )


def _status_event(status: SessionStatus) -> Event:
    return Event(type=EventType.SESSION_STATUS, payload={"status": status})
