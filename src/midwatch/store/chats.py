"""Chats: questions about a session that has ended. One is answered at a time, and the session's lease says which."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from midwatch.domain.errors import LeaseLost, NotFound
from midwatch.domain.session import SessionStatus, WorkStatus
from midwatch.domain.timeline import EventType
from midwatch.kit import json
from midwatch.store.cancels import add_cancel_request, drop_cancel_requests, is_cancel_requested, lock_session
from midwatch.store.driver import Row, Tx
from midwatch.store.fence import Event, Fence, Passed, pass_fence, tell
from midwatch.store.leases import end_lease
from midwatch.store.parking import leave_parked
from midwatch.store.sessions import close_work, note_unverified

CHAT_STAGE = "Chat"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatGround:
    """What decides whether a session can be asked about."""

    status: SessionStatus
    chat_enabled: bool


CHAT_ENABLED = "coalesce((s.chain #>> '{chat,enabled}')::boolean, true)"
"""Of a session `s`, by the chain it was submitted with. A chain that says nothing of chat has it."""


ATTEMPTS = """
    CASE WHEN stages.stage_type = 'chat' THEN coalesce(
        (SELECT l.attempts FROM session_leases l
         WHERE l.session_id = stages.session_id AND l.run_kind = 'chat' AND l.expires_at IS NOT NULL
             AND stages.status IN ('pending', 'active')),
        (SELECT (e.metadata ->> 'attempts')::integer FROM timeline_events e
         WHERE e.session_id = stages.session_id AND e.stage_id = stages.stage_id AND e.event_type = 'session_resumed'
         ORDER BY e.sequence_number DESC LIMIT 1),
        0) END AS attempts
"""
"""Of a row of `stages` that answers a question: take-overs in a row without progress, by its lease while it is open and
by what its timeline tells later. Of other stages none is known: the session's lease counts those."""


async def read_chat_ground(tx: Tx, session_id: UUID) -> ChatGround | None:
    row = await tx.fetchrow(
        f"SELECT s.status, {CHAT_ENABLED} AS chat_enabled "  # noqa: S608 -- nothing but columns of ours
        "FROM alert_sessions s WHERE s.session_id = $1 AND s.deleted_at IS NULL",
        session_id,
    )
    return row and ChatGround(status=SessionStatus(row["status"]), chat_enabled=row["chat_enabled"])


@dataclass(frozen=True, slots=True, kw_only=True)
class NewQuestion:
    session_id: UUID
    chat_id: UUID
    """Of the chat, should this be the first question."""
    message_id: UUID
    stage_id: UUID
    event_id: UUID
    text_id: UUID
    content: str
    author: str
    is_authenticated: bool = False
    """Whoever asked has shown the approver's secret."""
    selected_resources: Sequence[str] = ()
    """Ids that came picked with it."""
    warnings: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    chat_id: UUID
    seq: int


async def insert_question(tx: Tx, question: NewQuestion) -> Asked | None:
    """Whole or not at all; None while another question is open. Only for a session that has ended.

    Run in a transaction: the first statement locks the lease, so that of two who ask at once one is refused.
    """
    if not await _offer_lease(tx, question.session_id):
        return None
    if question.warnings:
        await _add_warnings(tx, question)
    row = await tx.fetchrow(
        """
        WITH chat AS (
            INSERT INTO chats (chat_id, session_id, created_by, last_interaction_at)
            VALUES ($2, $1, $8, clock_timestamp())
            ON CONFLICT (session_id) DO UPDATE SET last_interaction_at = clock_timestamp()
            RETURNING chat_id, chat_id = $2 AS is_new, created_by
        ), said AS (
            INSERT INTO texts (session_id, text_id, content) VALUES ($1, $6, $7)
        ), message AS (
            INSERT INTO chat_user_messages (message_id, chat_id, text_id, author, is_authenticated, selected_resources)
            SELECT $3, chat_id, $6, $8, $10, $11 FROM chat
        ), stage AS (
            INSERT INTO stages (stage_id, session_id, stage_index, stage_name, stage_type, status,
                                expected_agent_count, chat_id, chat_user_message_id)
            SELECT $4, $1, (SELECT coalesce(max(stage_index), 0) + 1 FROM stages WHERE session_id = $1), $9, 'chat',
                   'pending', 1, chat_id, $3
            FROM chat
        ), mark AS (
            INSERT INTO unindexed_sessions (session_id) VALUES ($1)
        ), feed AS (
            UPDATE session_feeds f SET seq = seq + CASE WHEN chat.is_new THEN 2 ELSE 1 END
            FROM chat WHERE f.session_id = $1 RETURNING seq
        ), entry AS (
            INSERT INTO timeline_events (event_id, session_id, stage_id, sequence_number, event_type, status, text_id,
                                         metadata)
            SELECT $5, $1, $4, seq, 'user_question', 'completed', $6, jsonb_build_object('author', $8::text) FROM feed
        ), told AS (
            INSERT INTO events (session_id, seq, type, ref, payload)
            SELECT $1, seq - 1, 'chat.created'::event_word, NULL::uuid,
                   jsonb_build_object('chat_id', chat_id, 'created_by', created_by)
            FROM feed, chat WHERE is_new
            UNION ALL SELECT $1, seq, 'timeline_event.created', $5, NULL FROM feed
        )
        SELECT chat_id, seq FROM chat, feed
        """,
        question.session_id,
        question.chat_id,
        question.message_id,
        question.stage_id,
        question.event_id,
        question.text_id,
        json.clean_text(question.content),
        json.clean_text(question.author),
        CHAT_STAGE,
        question.is_authenticated,
        list(question.selected_resources),
    )
    return Asked(chat_id=row["chat_id"], seq=row["seq"]) if row else None


async def _offer_lease(tx: Tx, session_id: UUID) -> bool:
    """A lease that has expired and has no owner: whoever looks for work takes it.

    False when somebody holds one, or waits for a person.
    """
    offered = await tx.fetchval(
        """
        UPDATE session_leases SET
            alert_attempts = CASE run_kind WHEN 'alert' THEN attempts ELSE alert_attempts END,
            run_kind = 'chat', owner = NULL, claimed_at = clock_timestamp(), expires_at = clock_timestamp(),
            renewed_at = NULL, released = true, attempts = 0, ran_ms = 0
        WHERE session_id = $1 AND expires_at IS NULL AND NOT parked RETURNING true
        """,
        session_id,
    )
    return bool(offered)


async def _add_warnings(tx: Tx, question: NewQuestion) -> None:
    await tx.execute(
        """
        UPDATE alert_sessions s SET warnings = s.warnings || (
            SELECT coalesce(jsonb_agg(new), '[]') FROM jsonb_array_elements($2::jsonb) new
            WHERE NOT s.warnings @> jsonb_build_array(new)
        ) WHERE session_id = $1
        """,
        question.session_id,
        json.encode_text(question.warnings),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredQuestion:
    chat_id: UUID
    message_id: UUID
    stage_id: UUID
    stage_index: int
    status: WorkStatus
    content: str
    author: str
    is_authenticated: bool
    selected_resources: Sequence[str]
    created_at: datetime
    error_message: str | None
    attempts: int
    """Take-overs of its answer in a row, without progress between them."""
    resumed_at: Sequence[datetime] = ()

    def asked_before(self, other: "StoredQuestion") -> bool:
        return self.stage_index < other.stage_index


_QUESTIONS = f"""
    SELECT m.chat_id, m.message_id, stages.stage_id, stages.stage_index, stages.status, t.content,
           coalesce(m.author, '') AS author, m.is_authenticated, m.selected_resources, m.created_at,
           stages.error_message, {ATTEMPTS}, ARRAY(
               SELECT e.created_at FROM timeline_events e
               WHERE e.session_id = $1 AND e.stage_id = stages.stage_id AND e.event_type = 'session_resumed'
               ORDER BY e.sequence_number
           ) AS resumed_at
    FROM stages
    JOIN chat_user_messages m ON m.message_id = stages.chat_user_message_id
    JOIN texts t ON t.session_id = stages.session_id AND t.text_id = m.text_id
    WHERE stages.session_id = $1 AND stages.stage_type = 'chat'
"""  # noqa: S608 -- nothing but columns of ours


async def list_questions(tx: Tx, session_id: UUID) -> tuple[StoredQuestion, ...]:
    """In the order they were asked."""
    return tuple(map(_question, await tx.fetch(f"{_QUESTIONS} ORDER BY stages.stage_index", session_id)))


async def read_question(tx: Tx, session_id: UUID, stage_id: UUID) -> StoredQuestion:
    row = await tx.fetchrow(f"{_QUESTIONS} AND stages.stage_id = $2", session_id, stage_id)
    if row is None:
        raise NotFound("question of stage", stage_id)
    return _question(row)


def _question(row: Row) -> StoredQuestion:
    fields: dict[str, Any] = {**row, "status": WorkStatus(row["status"])}
    return StoredQuestion(**fields)


async def begin_answer(tx: Tx, *, fence: Fence, question: StoredQuestion) -> int:
    """Told once, however often it is begun."""
    begun = await tx.fetchval(
        "UPDATE stages SET status = 'active', started_at = clock_timestamp() "
        "WHERE stage_id = $1 AND status = 'pending' RETURNING true",
        question.stage_id,
    )
    return await pass_fence(tx, fence, [_stage_event(question, "started")] if begun else ())


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerEnding:
    status: WorkStatus
    error_message: str | None = None


async def finish_answer(
    tx: Tx, fence: Fence, question: StoredQuestion, ending: AnswerEnding
) -> tuple[WorkStatus, Passed]:
    """The one end of a question: what a person has cancelled is cancelled.

    Rows are locked in the order lease, session, stage, feed.
    """
    if not await end_lease(tx, fence):
        raise LeaseLost(f"the question of session {fence.session_id} ended under another owner")
    await note_unverified(tx, fence.session_id)
    await tx.execute("SELECT FROM stages WHERE stage_id = $1 FOR NO KEY UPDATE", question.stage_id)
    cancelled = await is_cancel_requested(tx, fence.session_id, question.stage_id)
    status = WorkStatus.CANCELLED if cancelled else ending.status
    error = ending.error_message if status is ending.status else "cancelled by a person"
    await _end_stage(tx, question.stage_id, status=status, error=error)
    events = [*await close_work(tx, fence.session_id, SessionStatus(status)), _stage_event(question, status)]
    await drop_cancel_requests(tx, fence.session_id)
    await tx.execute("INSERT INTO unindexed_sessions (session_id) VALUES ($1)", fence.session_id)
    return status, Passed(seq=await pass_fence(tx, fence, events), events=events)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatCancel:
    seq: int | None
    """The feed's new sequence number when nobody was at work on it, and the question has ended at once."""
    told: tuple[Event, ...] = ()
    """What was told of it there."""


async def request_chat_cancel(tx: Tx, session_id: UUID) -> ChatCancel | None:
    """A question that waits ends at once; of one that is being answered the owner is asked. None when there is none.

    The lease of a running one is left alone: heartbeats wait for nobody.
    """
    await lock_session(tx, session_id)
    was_parked = await leave_parked(tx, session_id)
    withdrawn = await tx.fetchval(
        """
        UPDATE session_leases SET expires_at = NULL, released = false
        WHERE session_id = $1 AND run_kind = 'chat' AND expires_at IS NOT NULL AND owner IS NULL RETURNING true
        """,
        session_id,
    )
    stage_id = await tx.fetchval(
        "SELECT stage_id FROM stages WHERE session_id = $1 AND stage_type = 'chat' "
        "AND status IN ('pending', 'active') FOR NO KEY UPDATE",
        session_id,
    )
    if stage_id is None:
        return None
    if not withdrawn and not was_parked:
        await add_cancel_request(tx, session_id, stage_id)
        return ChatCancel(seq=None)
    question = await read_question(tx, session_id, stage_id)
    await _end_stage(tx, stage_id, status=WorkStatus.CANCELLED, error="cancelled before it was answered")
    events = await close_work(tx, session_id, SessionStatus.CANCELLED)
    await drop_cancel_requests(tx, session_id)
    seq = await tell(tx, session_id, [*events, _stage_event(question, WorkStatus.CANCELLED)])
    return ChatCancel(seq=seq, told=tuple(events))


async def _end_stage(tx: Tx, stage_id: UUID, *, status: WorkStatus, error: str | None) -> None:
    await tx.execute(
        """
        UPDATE stages SET status = $2, error_message = $3, completed_at = clock_timestamp(),
            duration_ms = (extract(epoch FROM clock_timestamp() - started_at) * 1000)::bigint
        WHERE stage_id = $1
        """,
        stage_id,
        status,
        error,
    )


def _stage_event(question: StoredQuestion, status: str) -> Event:
    return Event(
        type=EventType.STAGE_STATUS,
        payload={
            "stage_id": str(question.stage_id),
            "stage_name": CHAT_STAGE,
            "stage_index": question.stage_index,
            "stage_type": "chat",
            "status": status,
        },
    )
