"""What is told while it happens and stored nowhere: how sessions and executions fare.

The events of a session's own channel that must not be missed are stored with the rows they speak of.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from midwatch.domain.session import SessionStatus, WorkStatus
from midwatch.domain.timeline import EventType, Phase
from midwatch.domain.tools import CallNote, ClearedCall
from midwatch.store.fence import Event
from midwatch.timeline.flush import Flusher

_LONGEST_MESSAGE = 500
"""Characters: two such texts at six bytes each still fit a notification."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionPlace:
    session_id: UUID
    stage_id: UUID
    execution_id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a session has come along its chain."""

    stage_name: str
    stage_index: int
    """Counted from one."""
    total_stages: int
    active_executions: int
    status_text: str


def announce_status(
    flusher: Flusher, session_id: UUID, status: SessionStatus, *, waiting_for: str | None = None
) -> None:
    """For whoever watches all sessions; on the session's own channel the same is stored."""
    waiting = {} if waiting_for is None else {"waiting_for": waiting_for}
    flusher.broadcast(session_id, {"type": EventType.SESSION_STATUS, "status": status, **waiting})


def announce_approval(flusher: Flusher, session_id: UUID, event: Event) -> None:
    """For whoever watches what waits for a person; on the session's own channel the same is stored."""
    flusher.tell_approvers(session_id, {"type": event.type, **(event.payload or {})})


def announce_withdrawn(flusher: Flusher, session_id: UUID, told: Iterable[Event]) -> None:
    """Of all that was told of a session: the questions that nobody needs an answer to any more."""
    for event in told:
        if event.type is EventType.APPROVAL_DECIDED:
            announce_approval(flusher, session_id, event)


def announce_stop(flusher: Flusher, *, active: bool, reason: str | None, by: str | None) -> None:
    facts = {"reason": reason and reason[:_LONGEST_MESSAGE], "declared_by": by and by[:_LONGEST_MESSAGE]}
    told = {name: fact for name, fact in facts.items() if fact}
    flusher.tell_everybody({"type": EventType.EMERGENCY_STOP, "active": active, **told})


def announce_progress(flusher: Flusher, session_id: UUID, progress: Progress) -> None:
    event = render_progress(progress)
    flusher.send(session_id, event)
    flusher.broadcast(session_id, event)


def announce_execution(
    flusher: Flusher, place: ExecutionPlace, *, agent_index: int, status: WorkStatus, error: str | None = None
) -> None:
    flusher.send(place.session_id, render_execution(place, agent_index=agent_index, status=status, error=error))


def announce_phase(flusher: Flusher, place: ExecutionPlace, *, phase: Phase, message: str) -> None:
    flusher.send(place.session_id, render_phase(place, phase=phase, message=message))


def announce_note(flusher: Flusher, place: ExecutionPlace, *, cleared: ClearedCall, note: CallNote) -> None:
    flusher.send(place.session_id, render_note(place, cleared=cleared, note=note))


def render_progress(progress: Progress) -> dict[str, Any]:
    return {
        "type": EventType.SESSION_PROGRESS,
        "current_stage_name": progress.stage_name[:_LONGEST_MESSAGE],
        "current_stage_index": progress.stage_index,
        "total_stages": progress.total_stages,
        "active_executions": progress.active_executions,
        "status_text": progress.status_text[:_LONGEST_MESSAGE],
    }


def render_execution(
    place: ExecutionPlace, *, agent_index: int, status: WorkStatus, error: str | None
) -> dict[str, Any]:
    event: dict[str, Any] = {
        "type": EventType.EXECUTION_STATUS,
        **_where(place),
        "agent_index": agent_index,
        "status": status,
    }
    return event if error is None else event | {"error_message": error[:_LONGEST_MESSAGE]}


def render_phase(place: ExecutionPlace, *, phase: Phase, message: str) -> dict[str, Any]:
    return {
        "type": EventType.EXECUTION_PROGRESS,
        **_where(place),
        "phase": phase,
        "message": message[:_LONGEST_MESSAGE],
    }


def render_note(place: ExecutionPlace, *, cleared: ClearedCall, note: CallNote) -> dict[str, Any]:
    facts = {"progress": note.progress, "total": note.total, "level": note.level}
    return {
        "type": EventType.CALL_PROGRESS,
        **_where(place),
        "call_id": str(cleared.call.call_id),
        "server_name": cleared.tool.server,
        "tool_name": cleared.tool.name[:_LONGEST_MESSAGE],
        "message": note.message[:_LONGEST_MESSAGE],
        **{name: value for name, value in facts.items() if value is not None},
    }


def _where(place: ExecutionPlace) -> dict[str, Any]:
    return {"stage_id": str(place.stage_id), "execution_id": str(place.execution_id)}
