"""Tool calls that need more than a row: a write that starts, and what a dead owner left in flight."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any
from uuid import UUID

from midwatch.domain.errors import LeaseLost
from midwatch.domain.tools import CallState, ToolKind
from midwatch.kit import json
from midwatch.safety.machine import Machine, RecordedCall
from midwatch.store.approvals import consume_approval
from midwatch.store.driver import Tx
from midwatch.store.fence import Fence, pass_fence
from midwatch.store.stops import is_stopped, let_starts_pass


class Start(StrEnum):
    STARTED = "started"
    TARGET_BUSY = "target_busy"
    STOPPED = "stopped"
    APPROVAL_SPENT = "approval_spent"


class NotStarted(Exception):
    """Rolls the starting transaction back."""

    def __init__(self, *, why: Start) -> None:
        super().__init__(why)
        self.why = why


@dataclass(frozen=True, slots=True, kw_only=True)
class Yes:
    """A person's, which the start uses up."""

    approval_id: UUID
    digest: bytes


async def start_call(
    tx: Tx,
    fence: Fence,
    *,
    call_id: UUID,
    verdict: dict[str, Any],
    targets: Sequence[str],
    within: timedelta,
    arguments: str | None = None,
    changes: bool = True,
    yes: Yes | None = None,
) -> int:
    """Journals the call as started and puts its targets under change. Raises NotStarted, LeaseLost.

    `arguments` are what will be sent, when it is not what was requested. A call that `changes` nothing, but is not sure
    to run again either, keeps nobody else from its targets.

    Run in a transaction of its own, so that a refusal leaves nothing behind.
    """
    await let_starts_pass(tx)
    if await is_stopped(tx):
        raise NotStarted(why=Start.STOPPED)
    if targets and changes:
        await _open_changes(tx, fence, call_id=call_id, targets=sorted(set(targets)), within=within)
    if yes is not None:
        await _use(tx, fence, call_id=call_id, yes=yes)
    started = await tx.fetchval(
        """
        UPDATE tool_calls SET state = 'started', verdict = $3::jsonb, targets = $4, epoch = $2,
               deadline = clock_timestamp() + $5, arguments = coalesce($6, arguments)
        WHERE call_id = $1 AND (state IN ('requested', 'waiting_approval') OR state = 'started' AND epoch = $2)
        RETURNING true
        """,
        call_id,
        fence.epoch,
        json.encode_text(verdict),
        list(targets),
        within,
        arguments,
    )
    if not started:
        raise LeaseLost(f"call {call_id} was settled by another owner")
    return await pass_fence(tx, fence, ())


async def _use(tx: Tx, fence: Fence, *, call_id: UUID, yes: Yes) -> None:
    """Not twice, and also not again when the answer to a start that went through was lost."""
    is_started = await tx.fetchval(
        "SELECT state = 'started' AND epoch = $2 FROM tool_calls WHERE call_id = $1", call_id, fence.epoch
    )
    if is_started:
        return
    if not await consume_approval(tx, approval_id=yes.approval_id, call_id=call_id, digest=yes.digest):
        raise NotStarted(why=Start.APPROVAL_SPENT)


async def _open_changes(tx: Tx, fence: Fence, *, call_id: UUID, targets: Sequence[str], within: timedelta) -> None:
    """A target whose change has an unknown outcome is free again once its deadline has passed."""
    opened = await tx.fetchval(
        """
        WITH opened AS (
            INSERT INTO open_changes AS o (target, session_id, call_id, epoch, deadline)
            SELECT t, $2, $3, $4, clock_timestamp() + $5 FROM unnest($1::text[]) AS t
            ON CONFLICT (target) DO UPDATE SET session_id = excluded.session_id, call_id = excluded.call_id,
                epoch = excluded.epoch, deadline = excluded.deadline, created_at = clock_timestamp()
            WHERE o.deadline < clock_timestamp() OR o.call_id = excluded.call_id
            RETURNING 1
        )
        SELECT count(*) FROM opened
        """,
        list(targets),
        fence.session_id,
        call_id,
        fence.epoch,
        within,
    )
    if opened != len(targets):
        raise NotStarted(why=Start.TARGET_BUSY)


async def load_recorded_calls(tx: Tx, session_id: UUID) -> list[RecordedCall]:
    """What was sent of changes, and what has verified them, for whoever takes the session over."""
    rows = await tx.fetch(
        """
        SELECT c.targets, c.execution_id, c.verdict->>'kind' AS kind, (c.verdict->>'began')::bigint AS began,
               c.verdict->'verified' AS verified,
               CASE WHEN c.state IN ('started', 'unknown')
                    THEN greatest(0, extract(epoch FROM c.deadline - clock_timestamp()))::float8 ELSE 0 END AS held_for
        FROM agent_executions e JOIN tool_calls c USING (execution_id)
        WHERE e.session_id = $1 AND c.state IN ('started', 'finished', 'unknown') AND c.verdict ? 'began'
          AND (c.verdict->>'kind' = 'write' AND c.error_code IS DISTINCT FROM 'NOT_DISPATCHED'
               OR c.verdict ? 'verified')
        """,
        session_id,
    )
    return [
        RecordedCall(
            kind=ToolKind(row["kind"]),
            targets=tuple(row["targets"] or ()),
            began=row["began"],
            verified=tuple(json.decode(row["verified"])) if row["verified"] else (),
            owner=row["execution_id"],
            held_for=row["held_for"] or 0.0,
        )
        for row in rows
    ]


async def list_unverified(tx: Tx, session_id: UUID) -> tuple[str, ...]:
    """What was changed in the session, and nobody has looked at since."""
    return Machine.rebuild(await load_recorded_calls(tx, session_id)).unverified_targets


async def read_call_state(tx: Tx, session_id: UUID, call_id: UUID) -> CallState | None:
    """How the call stands; one of an execution that has ended, and was never settled, is unknown."""
    state = await tx.fetchval(
        """
        SELECT CASE WHEN e.status NOT IN ('pending', 'active')
                     AND c.state IN ('requested', 'waiting_approval', 'started')
                    THEN 'unknown' ELSE c.state::text END
        FROM tool_calls c JOIN agent_executions e USING (execution_id)
        WHERE c.session_id = $1 AND c.call_id = $2
        """,
        session_id,
        call_id,
    )
    return None if state is None else CallState(state)
