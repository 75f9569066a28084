"""Rows of the timeline and the journal, put into a batch. Pure: whoever commits the batch decides when."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from midwatch.domain.messages import Role
from midwatch.domain.timeline import EventType, TimelineStatus, TimelineType
from midwatch.domain.tools import CallState, ClearedCall, Refusal, ToolCall, ToolResult
from midwatch.kit.ids import new_id
from midwatch.masking.mask import mask_shown
from midwatch.store.journal import (
    Batch,
    ClosedEvent,
    McpInteraction,
    RequestedCall,
    SettledCall,
    StoredMessage,
    TimelineEvent,
)
from midwatch.timeline.verdicts import show_verdict

_SHOWN_AS = {
    CallState.FINISHED: TimelineStatus.COMPLETED,
    CallState.REFUSED: TimelineStatus.FAILED,
    CallState.UNKNOWN: TimelineStatus.INTERRUPTED,
}


def add_entry(
    batch: Batch,
    kind: TimelineType,
    text_id: UUID | None,
    *,
    metadata: dict[str, Any] | None = None,
) -> None:
    """Something that happened and is over."""
    event_id = new_id()
    told = batch.tell(EventType.TIMELINE_CREATED, event_id)
    batch.timeline.append(
        TimelineEvent(
            event_id=event_id,
            event_type=kind,
            status=TimelineStatus.COMPLETED,
            text_id=text_id,
            told=told,
            metadata=metadata,
        )
    )


def add_streamed(
    batch: Batch,
    kind: TimelineType,
    text: str,
    *,
    event_id: UUID,
    status: TimelineStatus = TimelineStatus.COMPLETED,
    interaction_id: UUID | None = None,
    metadata: dict[str, Any] | None = None,
) -> UUID | None:
    """A text that was shown while it came, stored now that no more will come. Nothing at all is not stored."""
    if not text:
        return None
    text_id = batch.add_text(text)
    told = batch.tell(EventType.TIMELINE_CREATED, event_id)
    batch.tell(EventType.TIMELINE_COMPLETED, event_id)
    batch.timeline.append(
        TimelineEvent(
            event_id=event_id,
            event_type=kind,
            status=status,
            text_id=text_id,
            told=told,
            metadata=metadata,
            llm_interaction_id=interaction_id,
        )
    )
    return text_id


def add_message(
    batch: Batch, role: Role, text_id: UUID | None, *, sequence: int, provider_state: bytes | None = None
) -> None:
    batch.messages.append(
        StoredMessage(
            message_id=new_id(),
            sequence_number=sequence,
            role=role,
            text_id=text_id,
            provider_state=None if provider_state is None else provider_state.hex(),
        )
    )


def add_requested(batch: Batch, call: ToolCall, *, message_sequence: int, index: int) -> UUID:
    """A call the model asked for, and its entry in the timeline, which stays open until the call is settled."""
    event_id = new_id()
    told = batch.tell(EventType.TIMELINE_CREATED, event_id)
    batch.timeline.append(
        TimelineEvent(
            event_id=event_id,
            event_type=TimelineType.LLM_TOOL_CALL,
            status=TimelineStatus.STREAMING,
            text_id=None,
            told=told,
            call_id=call.call_id,
        )
    )
    batch.requested.append(
        RequestedCall(
            call_id=call.call_id,
            message_sequence=message_sequence,
            call_index=index,
            provider_call_id=call.provider_id,
            tool_name=call.name,
            arguments=call.arguments,
            event_id=event_id,
        )
    )
    return event_id


def add_look(batch: Batch, cleared: ClearedCall, result: ToolResult, *, duration_ms: int) -> None:
    """A call that code asked for. It stands in the timeline, and in no conversation."""
    interaction = McpInteraction(
        interaction_id=new_id(),
        server_name=cleared.tool.server,
        tool_name=cleared.tool.name,
        call_id=None,
        duration_ms=duration_ms,
        error_message=result.error,
    )
    batch.mcp.append(interaction)
    add_streamed(
        batch,
        TimelineType.LLM_TOOL_CALL,
        result.content,
        event_id=new_id(),
        status=TimelineStatus.FAILED if result.is_error else TimelineStatus.COMPLETED,
        metadata={
            "server_name": cleared.tool.server,
            "tool_name": cleared.tool.name,
            "arguments": mask_shown(cleared.call.arguments),
            "tool_type": "mcp",
            "asked_by": "midwatch",
            "is_error": result.is_error,
        },
    )
    batch.tell(EventType.INTERACTION_CREATED, interaction.interaction_id)


def add_refusal(batch: Batch, call: ToolCall, text_id: UUID, *, refusal: Refusal, verdict: Mapping[str, Any]) -> None:
    """That code said no, and by what rule."""
    metadata = {"code": refusal.code, "tool_name": call.name, "call_id": str(call.call_id), **show_verdict(verdict)}
    add_entry(batch, TimelineType.TOOL_REFUSED, text_id, metadata=metadata)


def add_answer(batch: Batch, call: ToolCall, text_id: UUID, *, sequence: int, is_error: bool = False) -> None:
    """What the model reads as the answer to its call."""
    batch.messages.append(
        StoredMessage(
            message_id=new_id(),
            sequence_number=sequence,
            role=Role.TOOL,
            text_id=text_id,
            tool_call_id=call.provider_id,
            tool_name=call.name,
            is_error=is_error,
        )
    )


def add_settled(
    batch: Batch,
    call: ToolCall,
    result: ToolResult,
    *,
    state: CallState,
    sequence: int,
    event_id: UUID,
    verdict: dict[str, Any] | None = None,
    interaction_id: UUID | None = None,
    arguments: str | None = None,
    targets: tuple[str, ...] = (),
) -> UUID:
    """The end of a call: its timeline entry closed, and its result as the tool message the model reads.

    One that awaits a summary has no such message yet: the model is answered with what comes of it.
    """
    text_id = batch.add_text(result.content)
    batch.settled.append(
        SettledCall(
            call_id=call.call_id,
            state=state,
            result_text_id=text_id,
            error_code=result.error,
            verdict=verdict,
            arguments=arguments,
            targets=list(targets) or None,
        )
    )
    if not result.awaits_summary:
        add_answer(batch, call, text_id, sequence=sequence, is_error=result.is_error)
    failed = result.is_error and state is not CallState.UNKNOWN
    batch.closed.append(
        ClosedEvent(
            event_id=event_id,
            status=TimelineStatus.FAILED if failed else _SHOWN_AS[state],
            text_id=text_id,
            mcp_interaction_id=interaction_id,
        )
    )
    batch.tell(EventType.TIMELINE_COMPLETED, event_id)
    return text_id
