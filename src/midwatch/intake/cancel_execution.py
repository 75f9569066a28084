"""A person ends one agent, and its neighbours go on; what that means for the stage is up to its policy."""

from uuid import UUID

from midwatch.domain.errors import Conflict, NotFound
from midwatch.intake.wake import tell_owner
from midwatch.store.cancels import request_execution_cancel
from midwatch.store.engine import Store


async def cancel_execution(store: Store, session_id: UUID, execution_id: UUID) -> None:
    """From here on it can only end as cancelled. Raises NotFound, and Conflict when it has ended before."""
    async with store.begin() as tx:
        before = await request_execution_cancel(tx, session_id, execution_id)
    if before is None:
        raise NotFound("execution", execution_id)
    if before.is_terminal:
        raise Conflict(f"the agent has ended already: it is {before}")
    await tell_owner(store, session_id)
