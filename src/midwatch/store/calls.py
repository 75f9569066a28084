"""Tool calls that need more than a row: a write that starts, and what a dead owner left in flight."""

from collections.abc import Sequence
from datetime import timedelta
from enum import StrEnum
from typing import Any
from uuid import UUID

from midwatch.domain.errors import LeaseLost
from midwatch.domain.tools import CallState
from midwatch.kit import json
from midwatch.store.driver import Tx
from midwatch.store.fence import Fence, pass_fence


class Start(StrEnum):
    STARTED = "started"
    TARGET_BUSY = "target_busy"
    STOPPED = "stopped"


class NotStarted(Exception):
    """Rolls the starting transaction back."""

    def __init__(self, *, why: Start) -> None:
        super().__init__(why)
        self.why = why


async def start_call(
    tx: Tx,
    fence: Fence,
    *,
    call_id: UUID,
    verdict: dict[str, Any],
    targets: Sequence[str],
    within: timedelta,
    arguments: str | None = None,
) -> int:
    """Journals the call as started and puts its targets under change. Raises NotStarted, LeaseLost.

    `arguments` are what will be sent, when it is not what was requested.

    Run in a transaction of its own, so that a refusal leaves nothing behind.
    """
    if await tx.fetchval("SELECT EXISTS (SELECT FROM emergency_stops WHERE lifted_at IS NULL)"):
        raise NotStarted(why=Start.STOPPED)
    if targets:
        await _open_changes(tx, fence, call_id=call_id, targets=sorted(set(targets)), within=within)
    started = await tx.fetchval(
        """
        UPDATE tool_calls SET state = 'started', verdict = $3::jsonb, targets = $4, epoch = $2,
               deadline = clock_timestamp() + $5, arguments = coalesce($6, arguments)
        WHERE call_id = $1 AND (state = 'requested' OR state = 'started' AND epoch = $2)
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
