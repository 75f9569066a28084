"""Reading sessions, and stopping them."""

from typing import Any
from uuid import UUID

from fastapi import APIRouter

from midwatch.api.description import WITH_BODY, refusals
from midwatch.api.schemas import (
    CallCancelOut,
    CancelOut,
    ExecutionCancelOut,
    SessionOut,
    SessionStatusOut,
    SessionSummaryOut,
)
from midwatch.api.state import TheConfig, TheFlusher, TheMeters, TheStore
from midwatch.api.timeline_bodies import TimelineEntry
from midwatch.domain.errors import NotFound
from midwatch.domain.session import SessionStatus
from midwatch.intake.cancel_call import cancel_call
from midwatch.intake.cancel_execution import cancel_execution
from midwatch.intake.cancel_session import cancel_session
from midwatch.queue.places import find_standing
from midwatch.store.feed import read_live_texts, read_timeline
from midwatch.store.readings import read_session, read_session_statistics, read_session_status, session_exists
from midwatch.timeline.render import render_live_text, render_timeline_entry

router = APIRouter(prefix="/api/v1/sessions", responses=refusals(400, 404, 503))


@router.get("/{session_id}", summary="Show a session")
async def show_session(session_id: UUID, store: TheStore, config: TheConfig) -> SessionOut:
    """All of it but its timeline: the alert, the analysis, and its stages with their executions."""
    async with store.connect() as tx:
        reading = await read_session(tx, session_id)
        if reading is None:
            raise NotFound("session", session_id)
        standing = await find_standing(tx, session_id, status=SessionStatus(reading.session["status"]))
    return SessionOut.from_reading(
        reading,
        standing,
        priced=config.system.cost_estimation.enabled,
        cap=config.queue.max_concurrent_sessions,
    )


@router.get("/{session_id}/status", summary="Show how a session stands")
async def show_session_status(session_id: UUID, store: TheStore) -> SessionStatusOut:
    """Little and cheap, for whoever waits for the end: its status, and the analysis once there is one."""
    async with store.connect() as tx:
        row = await read_session_status(tx, session_id)
    if row is None:
        raise NotFound("session", session_id)
    return SessionStatusOut.model_validate(dict(row))


@router.get("/{session_id}/summary", summary="Show a session in numbers")
async def show_session_summary(session_id: UUID, store: TheStore, config: TheConfig) -> SessionSummaryOut:
    """How many interactions it took, how many tokens, how many stages, how long, and what it cost."""
    async with store.connect() as tx:
        row = await read_session_statistics(tx, session_id)
    if row is None:
        raise NotFound("session", session_id)
    return SessionSummaryOut.from_row(row, priced=config.system.cost_estimation.enabled)


@router.get(
    "/{session_id}/timeline",
    summary="Show what happened in a session",
    response_model=list[TimelineEntry],
    response_model_exclude_unset=True,
)
async def show_timeline(session_id: UUID, store: TheStore) -> list[dict[str, Any]]:
    """What happened, in order; streams that run now come last."""
    async with store.connect() as tx:
        if not await session_exists(tx, session_id):
            raise NotFound("session", session_id)
        # Streams first: one that becomes an entry between the two reads is then seen twice rather than not at all.
        live = await read_live_texts(tx, session_id)
        entries = await read_timeline(tx, session_id)
    finished = {row["event_id"] for row in entries}
    running = [row for row in live if row["event_id"] not in finished]
    place = entries[-1]["sequence_number"] + 1 if entries else 1
    return [render_timeline_entry(row) for row in entries] + [
        render_live_text(row, session_id, sequence_number=number) for number, row in enumerate(running, start=place)
    ]


@router.post(
    "/{session_id}/cancel",
    summary="Cancel a session",
    operation_id="cancel_session",
    responses=refusals(409) | WITH_BODY,
)
async def cancel(session_id: UUID, store: TheStore, flusher: TheFlusher, meters: TheMeters) -> CancelOut:
    """At once when it waits; one that runs ends when its worker has seen it.

    Of a session that has ended, the question that is being answered is cancelled; without one there is nothing to do.
    """
    cancelled = await cancel_session(store, flusher, session_id, meters=meters)
    what = "Question" if cancelled.is_chat else "Session"
    message = f"{what} cancelled" if cancelled.is_over else f"{what} is being cancelled"
    return CancelOut(session_id=session_id, status=cancelled.status, message=message)


@router.post(
    "/{session_id}/executions/{execution_id}/cancel",
    summary="Cancel one agent",
    operation_id="cancel_execution",
    responses=refusals(409) | WITH_BODY,
)
async def end_execution(session_id: UUID, execution_id: UUID, store: TheStore) -> ExecutionCancelOut:
    """The others of its stage go on; whether the stage can succeed without it is up to the stage's policy."""
    await cancel_execution(store, session_id, execution_id)
    message = "Agent is being cancelled"
    return ExecutionCancelOut(session_id=session_id, execution_id=execution_id, message=message)


@router.post(
    "/{session_id}/calls/{call_id}/cancel",
    summary="Cancel a tool call",
    operation_id="cancel_call",
    responses=refusals(409) | WITH_BODY,
)
async def end_call(session_id: UUID, call_id: UUID, store: TheStore, flusher: TheFlusher) -> CallCancelOut:
    """The session goes on, and its model reads that a person ended the call.

    A change that was on its way may have been made or not; its target stays closed until the call's time is over.
    """
    await cancel_call(store, flusher, session_id, call_id=call_id)
    return CallCancelOut(session_id=session_id, call_id=call_id, message="Call is being cancelled")
