"""A person ends one agent, and its neighbours go on; what that means for the stage is up to its policy.

An agent that waits for an approval is ended by whoever takes its session up again, which somebody does at once.
"""

from uuid import UUID

from midwatch.domain.errors import Conflict, NotFound
from midwatch.intake.wake import tell_owner, tell_workers
from midwatch.store.cancels import request_execution_cancel
from midwatch.store.engine import Store
from midwatch.store.parking import wake_for_cancel


async def cancel_execution(store: Store, session_id: UUID, execution_id: UUID) -> None:
    """From here on it can only end as cancelled. Raises NotFound, and Conflict when it has ended before."""
    async with store.begin() as tx:
        before, is_woken = await request_execution_cancel(tx, session_id, execution_id), False
        if before is not None and not before.is_terminal:
            is_woken = await wake_for_cancel(tx, session_id)
    if before is None:
        raise NotFound("execution", execution_id)
    if before.is_terminal:
        raise Conflict(f"the agent has ended already: it is {before}")
    await tell_owner(store, session_id)
    if is_woken:
        await tell_workers(store)
