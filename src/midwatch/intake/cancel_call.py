"""A person ends one call, and its session goes on without the answer."""

from uuid import UUID

from midwatch.domain.errors import Conflict, NotFound
from midwatch.domain.tools import CallState
from midwatch.intake.wake import tell_owner
from midwatch.store.calls import read_call_state
from midwatch.store.cancels import add_cancel_request
from midwatch.store.engine import Store

_OPEN = (CallState.REQUESTED, CallState.STARTED)


async def cancel_call(store: Store, session_id: UUID, call_id: UUID) -> None:
    """Whichever replica runs the call is told. Raises NotFound, and Conflict when the call has ended before."""
    async with store.connect() as tx:
        state = await read_call_state(tx, session_id, call_id)
        if state is None:
            raise NotFound("call", call_id)
        if state not in _OPEN:
            raise Conflict(f"the call has ended already: it is {state}")
        await add_cancel_request(tx, session_id, call_id)
    await tell_owner(store, session_id)
