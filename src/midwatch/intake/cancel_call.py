"""A person ends one call, and its session goes on without the answer.

Of a call that waits for an approval the question is taken back: nobody has to decide any more.
"""

from uuid import UUID

from midwatch.domain.errors import Conflict, NotFound
from midwatch.domain.tools import CallState
from midwatch.intake.decide_approval import follow_decision
from midwatch.intake.wake import tell_owner
from midwatch.store.approvals import Decided, withdraw_questions
from midwatch.store.calls import read_call_state
from midwatch.store.cancels import add_cancel_request, lock_session
from midwatch.store.engine import Store
from midwatch.store.parking import Told, tell_decision
from midwatch.timeline.flush import Flusher

_OPEN = (CallState.REQUESTED, CallState.STARTED)


async def cancel_call(store: Store, flusher: Flusher, session_id: UUID, *, call_id: UUID) -> None:
    """Whichever replica runs the call is told. Raises NotFound, and Conflict when the call has ended before."""
    withdrawn: list[tuple[Decided, Told]] = []
    async with store.begin() as tx:
        await lock_session(tx, session_id)
        state = await read_call_state(tx, session_id, call_id)
        if state is None:
            raise NotFound("call", call_id)
        if state is CallState.WAITING_APPROVAL:
            questions = await withdraw_questions(tx, session_id, call_id=call_id)
            withdrawn = [(question, await tell_decision(tx, question)) for question in questions]
        elif state in _OPEN:
            await add_cancel_request(tx, session_id, call_id)
        else:
            raise Conflict(f"the call has ended already: it is {state}")
    for question, told in withdrawn:
        await follow_decision(store, flusher, question, told)
    await tell_owner(store, session_id)
