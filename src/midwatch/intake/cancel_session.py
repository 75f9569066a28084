"""A person stops a session, or the answer to a question about it: at once if nobody works on it, else by telling."""

from dataclasses import dataclass
from uuid import UUID

from midwatch.domain.errors import Conflict, NotFound
from midwatch.domain.session import SessionStatus
from midwatch.intake.wake import tell_owner
from midwatch.store.chats import ChatCancel, request_chat_cancel
from midwatch.store.engine import Store
from midwatch.store.sessions import CancelRequest, request_cancel
from midwatch.telemetry.metrics import UNMETERED, Meters
from midwatch.telemetry.series import ENDED
from midwatch.timeline.announce import announce_status, announce_withdrawn
from midwatch.timeline.flush import Flusher


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancellation:
    status: SessionStatus
    """Of the session, after the request."""
    is_chat: bool = False
    """The session had ended before, and a question about it is what was cancelled."""
    is_over: bool = False
    """Nobody was at work, so there is nobody to wait for."""


async def cancel_session(
    store: Store, flusher: Flusher, session_id: UUID, *, meters: Meters = UNMETERED
) -> Cancellation:
    """Raises NotFound, and Conflict when the session had ended before and no question about it is open."""
    async with store.begin() as tx:
        request = await request_cancel(tx, session_id)
    if request is None:
        raise NotFound("session", session_id)
    if not request.before.is_terminal:
        if request.after.is_terminal:
            meters.count(ENDED, (request.alert_type, request.after))
        return await _follow(store, flusher, session_id, request=request)
    # A transaction of its own: a question locks the lease before the session.
    async with store.begin() as tx:
        chat = await request_chat_cancel(tx, session_id)
    if chat is None:
        raise Conflict(f"the session has ended already: it is {request.before}")
    return await _follow_chat(store, flusher, session_id, request=request, chat=chat)


async def _follow(store: Store, flusher: Flusher, session_id: UUID, *, request: CancelRequest) -> Cancellation:
    if request.seq is not None:
        flusher.advance(session_id, request.seq)
        announce_status(flusher, session_id, request.after)
        announce_withdrawn(flusher, session_id, request.told)
    if request.after is SessionStatus.CANCELLING:
        await tell_owner(store, session_id)
    return Cancellation(status=request.after, is_over=request.after is SessionStatus.CANCELLED)


async def _follow_chat(
    store: Store, flusher: Flusher, session_id: UUID, *, request: CancelRequest, chat: ChatCancel
) -> Cancellation:
    if chat.seq is None:
        await tell_owner(store, session_id)
    else:
        flusher.advance(session_id, chat.seq)
        announce_withdrawn(flusher, session_id, chat.told)
    return Cancellation(status=request.after, is_chat=True, is_over=chat.seq is not None)
