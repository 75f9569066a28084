"""What people want to end of a session: stored first, told afterwards, and read by every heartbeat of its owner."""

from uuid import UUID

from midwatch.domain.session import WorkStatus
from midwatch.store.driver import Tx


async def lock_session(tx: Tx, session_id: UUID) -> None:
    """First of all, for whoever decides about a run that may be parked."""
    await tx.execute("SELECT FROM alert_sessions WHERE session_id = $1 FOR NO KEY UPDATE", session_id)


async def request_execution_cancel(tx: Tx, session_id: UUID, execution_id: UUID) -> WorkStatus | None:
    """The status before; nothing is asked of one that has ended. None when there is no such execution.

    Run in a transaction: the row's lock is what an execution that ends in the same moment waits for. The session's row
    is locked before it, since the run may be parked.
    """
    await lock_session(tx, session_id)
    status = await tx.fetchval(
        """
        SELECT e.status FROM agent_executions e JOIN alert_sessions s USING (session_id)
        WHERE e.execution_id = $2 AND e.session_id = $1 AND s.deleted_at IS NULL FOR NO KEY UPDATE OF e
        """,
        session_id,
        execution_id,
    )
    if status is None:
        return None
    before = WorkStatus(status)
    if not before.is_terminal:
        await add_cancel_request(tx, session_id, execution_id)
    return before


async def lock_execution(tx: Tx, session_id: UUID, execution_id: UUID) -> bool:
    """True when a person wants it to end. From here to the end of the transaction nobody can begin to want it."""
    await tx.execute("SELECT FROM agent_executions WHERE execution_id = $1 FOR NO KEY UPDATE", execution_id)
    # A statement of its own: it must see what was committed while the first one waited.
    return await is_cancel_requested(tx, session_id, execution_id)


async def add_cancel_request(tx: Tx, session_id: UUID, target_id: UUID) -> None:
    await tx.execute(
        "INSERT INTO cancel_requests (session_id, target_id) VALUES ($1, $2) ON CONFLICT DO NOTHING",
        session_id,
        target_id,
    )


async def is_cancel_requested(tx: Tx, session_id: UUID, target_id: UUID) -> bool:
    return await tx.fetchval(
        "SELECT EXISTS (SELECT FROM cancel_requests WHERE session_id = $1 AND target_id = $2)", session_id, target_id
    )


async def drop_cancel_requests(tx: Tx, session_id: UUID) -> None:
    """Once nobody is left who could heed them."""
    await tx.execute("DELETE FROM cancel_requests WHERE session_id = $1", session_id)
