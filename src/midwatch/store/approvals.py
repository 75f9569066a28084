"""Questions to a person: asked by a run, decided by somebody outside it, used up once.

Whoever decides locks the session first and the approval after it, so that a run that is about to park either sees the
decision or is seen by it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from midwatch.kit import json
from midwatch.kit.ids import new_id
from midwatch.safety.approvals import Approval, ApprovalState, Undecidable, decide
from midwatch.safety.questions import AskedCall, NewApproval
from midwatch.store.driver import Row, Tx
from midwatch.store.fence import Fence

NOBODY = "midwatch"
"""Who decides when no person does."""

_COLUMNS = """a.approval_id, a.session_id, a.call_id, a.state, a.digest, a.parts, a.targets, a.request, a.requested_at,
    a.expires_at, a.decided_at, a.decided_by, a.reason, a.consumed_at"""


async def find_asked(tx: Tx, call_id: UUID) -> AskedCall | None:
    """None when there is no such call."""
    row = await tx.fetchrow(
        f"""
        SELECT clock_timestamp() AS now, coalesce(t.content, '') AS models_words, {_COLUMNS}
        FROM tool_calls c
        JOIN messages m ON m.execution_id = c.execution_id AND m.sequence_number = c.message_sequence
        LEFT JOIN texts t ON t.session_id = c.session_id AND t.text_id = m.text_id
        LEFT JOIN approvals a ON a.call_id = c.call_id
        WHERE c.call_id = $1
        """,  # noqa: S608 -- nothing but columns of ours
        call_id,
    )
    if row is None:
        return None
    is_asked = row["approval_id"] is not None
    return AskedCall(
        now=row["now"],
        models_words=row["models_words"],
        approval=_read_approval(row) if is_asked else None,
        targets=tuple(json.decode(row["targets"])) if is_asked else (),
    )


async def insert_approval(tx: Tx, fence: Fence, new: NewApproval) -> None:
    """The call waits from now on. Whoever calls this passes the fence."""
    approval = new.approval
    await tx.execute(
        """
        WITH call AS (
            UPDATE tool_calls SET state = 'waiting_approval', verdict = $10::jsonb, targets = $11
            WHERE call_id = $3 AND state = 'requested' RETURNING call_id
        )
        INSERT INTO approvals (approval_id, session_id, call_id, state, digest, parts, targets, request, requested_at,
                               expires_at)
        SELECT $1, $2, call_id, 'waiting', $4, $5::jsonb, $6::jsonb, $7::jsonb, $8, $9 FROM call
        """,
        approval.approval_id,
        fence.session_id,
        approval.call_id,
        approval.digest,
        json.encode_text(approval.parts),
        json.encode_text(new.targets),
        json.encode_text(new.request),
        approval.requested_at,
        approval.expires_at,
        json.encode_text(new.verdict),
        list(new.target_ids),
    )


async def consume_approval(tx: Tx, *, approval_id: UUID, call_id: UUID, digest: bytes) -> bool:
    """Uses a yes up, in the transaction that starts its call. False when it is none, not for this, or spent."""
    used = await tx.fetchrow(
        f"""
        UPDATE approvals a SET consumed_at = clock_timestamp()
        WHERE a.approval_id = $1 AND a.call_id = $2 AND a.state = 'approved' AND a.consumed_at IS NULL
          AND a.digest = $3 AND a.decided_at + (a.expires_at - a.requested_at) > clock_timestamp()
        RETURNING {_COLUMNS}
        """,  # noqa: S608 -- nothing but columns of ours
        approval_id,
        call_id,
        digest,
    )
    if used is None:
        return False
    await _keep_record(tx, used, decision="consumed", by=NOBODY, reason=None)
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """A question that was open and is no longer."""

    approval_id: UUID
    session_id: UUID
    call_id: UUID
    state: ApprovalState
    decided_by: str | None
    reason: str | None
    tool: str


async def lock_question(tx: Tx, approval_id: UUID) -> Row | None:
    """The session's row first, then the approval's. None when there is no such question."""
    session = await tx.fetchval(
        """
        SELECT s.session_id FROM alert_sessions s JOIN approvals a USING (session_id)
        WHERE a.approval_id = $1 AND s.deleted_at IS NULL FOR NO KEY UPDATE OF s
        """,
        approval_id,
    )
    if session is None:
        return None
    # A statement of its own: it must see what was decided while the first one waited.
    return await tx.fetchrow(
        f"SELECT {_COLUMNS}, clock_timestamp() AS now FROM approvals a WHERE a.approval_id = $1 FOR NO KEY UPDATE",  # noqa: S608 -- nothing but columns of ours
        approval_id,
    )


async def settle_question(tx: Tx, question: Row, *, is_approved: bool, by: str, reason: str) -> Decided | Undecidable:
    """Of a question that `lock_question` has locked."""
    decided = decide(_read_approval(question), is_approved=is_approved, by=by, now=question["now"], reason=reason)
    if isinstance(decided, Undecidable):
        return decided
    return await _close(tx, question, state=decided.state, by=by, reason=reason or None)


async def expire_question(tx: Tx, question: Row) -> Decided | None:
    """Silence until now is a no. None when somebody has answered, or there is still time."""
    state = _read_approval(question).state_at(question["now"])
    if question["state"] != ApprovalState.WAITING or state is not ApprovalState.EXPIRED:
        return None
    return await _close(tx, question, state=ApprovalState.EXPIRED, by=NOBODY, reason=None)


async def list_overdue(tx: Tx, *, limit: int) -> list[UUID]:
    rows = await tx.fetch(
        "SELECT approval_id FROM approvals WHERE state = 'waiting' AND expires_at <= clock_timestamp() "
        "ORDER BY expires_at LIMIT $1",
        limit,
    )
    return [row["approval_id"] for row in rows]


async def withdraw_questions(
    tx: Tx, session_id: UUID, *, execution_id: UUID | None = None, call_id: UUID | None = None
) -> list[Decided]:
    """Nobody needs an answer any more: of the session, or of one execution or call of it."""
    rows = await tx.fetch(
        f"""
        SELECT {_COLUMNS} FROM approvals a JOIN tool_calls c USING (call_id)
        WHERE a.session_id = $1 AND a.state = 'waiting' AND c.execution_id = coalesce($2, c.execution_id)
          AND a.call_id = coalesce($3, a.call_id)
        ORDER BY a.approval_id FOR NO KEY UPDATE OF a
        """,  # noqa: S608 -- nothing but columns of ours
        session_id,
        execution_id,
        call_id,
    )
    return [await _close(tx, row, state=ApprovalState.CANCELLED, by=NOBODY, reason=None) for row in rows]


async def _close(tx: Tx, question: Row, *, state: ApprovalState, by: str, reason: str | None) -> Decided:
    cleaned = None if reason is None else json.clean_text(reason)
    await tx.execute(
        """
        UPDATE approvals SET state = $2, decided_at = clock_timestamp(), decided_by = $3, reason = $4
        WHERE approval_id = $1
        """,
        question["approval_id"],
        state,
        json.clean_text(by),
        cleaned,
    )
    await _keep_record(tx, question, decision=state, by=by, reason=cleaned)
    request: dict[str, Any] = json.decode(question["request"])
    return Decided(
        approval_id=question["approval_id"],
        session_id=question["session_id"],
        call_id=question["call_id"],
        state=state,
        decided_by=by,
        reason=cleaned,
        tool=f"{request.get('server_name')}.{request.get('tool_name')}",
    )


async def _keep_record(tx: Tx, question: Row, *, decision: str, by: str, reason: str | None) -> None:
    await tx.execute(
        """
        INSERT INTO approval_decisions (decision_id, approval_id, session_id, call_id, decision, decided_by, reason,
                                        digest, request)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9::jsonb)
        """,
        new_id(),
        question["approval_id"],
        question["session_id"],
        question["call_id"],
        decision,
        json.clean_text(by),
        reason,
        question["digest"],
        question["request"],
    )


_SHOWN = f"""
    SELECT {_COLUMNS}, c.execution_id, e.stage_id, c.verdict, c.state AS call_state, clock_timestamp() AS now
    FROM approvals a
    JOIN alert_sessions s ON s.session_id = a.session_id AND s.deleted_at IS NULL
    JOIN tool_calls c ON c.call_id = a.call_id
    JOIN agent_executions e ON e.execution_id = c.execution_id
"""  # noqa: S608 -- nothing but columns of ours


async def list_approvals(tx: Tx, *, state: ApprovalState | None, session_id: UUID | None, limit: int) -> Sequence[Row]:
    """Those that wait in front, the first to expire before the others; then the latest."""
    return await tx.fetch(
        f"""
        {_SHOWN} WHERE a.state = coalesce($1, a.state) AND a.session_id = coalesce($2, a.session_id)
        ORDER BY a.state <> 'waiting', CASE a.state WHEN 'waiting' THEN a.expires_at END, a.requested_at DESC LIMIT $3
        """,
        state,
        session_id,
        limit,
    )


async def read_approval(tx: Tx, approval_id: UUID) -> Row | None:
    return await tx.fetchrow(f"{_SHOWN} WHERE a.approval_id = $1", approval_id)


def _read_approval(row: Row) -> Approval:
    return Approval(
        approval_id=row["approval_id"],
        call_id=row["call_id"],
        parts=json.decode(row["parts"]),
        digest=row["digest"],
        requested_at=row["requested_at"],
        expires_at=row["expires_at"],
        state=ApprovalState(row["state"]),
        decided_at=row["decided_at"],
        decided_by=row["decided_by"],
        reason=row["reason"],
        consumed_at=row["consumed_at"],
    )
