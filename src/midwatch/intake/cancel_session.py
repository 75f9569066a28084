"""A person stops a session: at once if nobody runs it, else by telling whoever does."""

from contextlib import suppress
from uuid import UUID

from midwatch.domain.errors import Conflict, NotFound, StoreUnavailable
from midwatch.domain.session import SessionStatus
from midwatch.store.engine import Store
from midwatch.store.sessions import request_cancel, wake_owner
from midwatch.timeline.announce import announce_status
from midwatch.timeline.flush import Flusher


async def cancel_session(store: Store, flusher: Flusher, session_id: UUID) -> SessionStatus:
    """The status after the request. Raises NotFound, and Conflict when the session had ended before."""
    async with store.begin() as tx:
        request = await request_cancel(tx, session_id)
    if request is None:
        raise NotFound("session", session_id)
    if request.after.is_terminal and request.seq is None:
        raise Conflict(f"the session has ended already: it is {request.before}")
    if request.seq is not None:
        flusher.advance(session_id, request.seq)
        announce_status(flusher, session_id, request.after)
    if request.after is SessionStatus.CANCELLING:
        await _wake(store, session_id)
    return request.after


async def _wake(store: Store, session_id: UUID) -> None:
    """The request is stored: whoever runs the session sees it at the next heartbeat even if the call is lost."""
    with suppress(StoreUnavailable):
        async with store.connect() as tx:
            await wake_owner(tx, session_id)
