"""Interactions with models and tools, in the names of the wire."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Self
from uuid import UUID

from pydantic import AfterValidator, BaseModel, Field

from midwatch.api.outbound_bodies import OutboundOut
from midwatch.kit import json
from midwatch.masking.mask import mask_shown
from midwatch.store.driver import Row
from midwatch.store.ledger import Outbound
from midwatch.store.traces import LlmReading, Trace
from midwatch.timeline.render import cut_text


class LlmItem(BaseModel):
    id: UUID
    interaction_type: str
    model_name: str
    input_tokens: int | None
    output_tokens: int | None
    total_tokens: int | None
    estimated_cost_usd: float | None = Field(description="US dollars; null when nobody knows the price")
    duration_ms: int | None
    error_message: str | None
    created_at: datetime


class McpItem(BaseModel):
    id: UUID
    interaction_type: str
    server_name: str
    tool_name: str | None
    duration_ms: int | None
    error_message: str | None
    created_at: datetime


class TracedExecution(BaseModel):
    execution_id: UUID
    agent_name: str
    llm_interactions: list[LlmItem]
    mcp_interactions: list[McpItem]
    sub_agents: list["TracedExecution"]


class TracedStage(BaseModel):
    stage_id: UUID
    stage_name: str
    stage_type: str
    referenced_stage_id: UUID | None
    executions: list[TracedExecution]


class TraceOut(BaseModel):
    stages: list[TracedStage]
    session_interactions: list[LlmItem]

    @classmethod
    def from_trace(cls, trace: Trace) -> Self:
        executions = {row["execution_id"] for row in trace.executions}
        return cls(
            stages=[
                TracedStage.model_validate(
                    dict(row) | {"executions": _executions(trace, stage_id=row["stage_id"], parent_id=None)}
                )
                for row in trace.stages
            ],
            session_interactions=[
                LlmItem.model_validate(dict(row)) for row in trace.llm if row["execution_id"] not in executions
            ],
        )


def _executions(trace: Trace, *, stage_id: UUID, parent_id: UUID | None) -> list[TracedExecution]:
    return [
        TracedExecution(
            execution_id=row["execution_id"],
            agent_name=row["agent_name"],
            llm_interactions=[LlmItem.model_validate(dict(i)) for i in _of(trace.llm, row)],
            mcp_interactions=[McpItem.model_validate(dict(i)) for i in _of(trace.mcp, row)],
            sub_agents=_executions(trace, stage_id=stage_id, parent_id=row["execution_id"]),
        )
        for row in trace.executions
        if row["stage_id"] == stage_id and row["parent_execution_id"] == parent_id
    ]


def _of(interactions: Sequence[Row], execution: Row) -> list[Row]:
    return [row for row in interactions if row["execution_id"] == execution["execution_id"]]


class TracedCall(BaseModel):
    id: str
    name: str
    arguments: Annotated[str, AfterValidator(mask_shown)]


class ConversationMessage(BaseModel):
    role: str
    content: str
    tool_calls: list[TracedCall] | None = None
    tool_call_id: str | None = None
    tool_name: str | None = None


class LlmDetail(LlmItem):
    thinking_content: str | None
    llm_request: dict[str, Any]
    llm_response: dict[str, Any]
    response_metadata: dict[str, Any] | None
    conversation: list[ConversationMessage]
    outbound: OutboundOut | None = Field(
        description="What left for the model, of several attempts the last; null when nothing did, or it has expired"
    )

    @classmethod
    def from_reading(cls, reading: LlmReading, *, outbound: Outbound | None) -> Self:
        row = reading.interaction
        thinking = row["thinking_content"]
        return cls.model_validate(
            row
            | {
                "thinking_content": None if thinking is None else cut_text(thinking, row["thinking_length"]),
                "llm_response": _response(reading),
                "conversation": [_message(message, reading.calls) for message in reading.messages],
                "outbound": None if outbound is None else OutboundOut.from_outbound(outbound),
            }
        )


def _response(reading: LlmReading) -> dict[str, Any]:
    row = reading.interaction
    calls = [] if reading.reply_sequence is None else _calls_of(reading.calls, reading.reply_sequence)
    return {
        "text": cut_text(row["response_content"], row["response_length"]),
        "text_length": row["response_length"] or 0,
        "tool_calls_count": len(calls),
        "tool_calls": [call.model_dump() for call in calls],
    }


def _message(row: Row, calls: Sequence[Row]) -> ConversationMessage:
    return ConversationMessage(
        role=row["role"],
        content=cut_text(row["content"], row["content_length"]),
        tool_calls=_calls_of(calls, row["sequence_number"]) or None,
        tool_call_id=row["tool_call_id"],
        tool_name=row["tool_name"],
    )


def _calls_of(calls: Sequence[Row], sequence: int) -> list[TracedCall]:
    return [TracedCall.model_validate(dict(call)) for call in calls if call["message_sequence"] == sequence]


class TracedResult(BaseModel):
    content: str
    is_error: bool
    characters: int = Field(description="Of the whole result")
    is_whole: bool = Field(description="Whether content is all of it")
    is_kept: bool = Field(description="Whether all of it can still be read, at …/result")


class ToolOut(BaseModel):
    name: str
    description: str


class McpDetail(McpItem):
    tool_arguments: Any
    tool_result: TracedResult | None
    available_tools: list[ToolOut] | None

    @classmethod
    def from_row(cls, row: Row) -> Self:
        result = None
        if row["content"] is not None:
            content = cut_text(row["content"], row["content_length"])
            result = TracedResult(
                content=content,
                is_error=row["error_code"] is not None,
                characters=row["characters"],
                is_whole=len(row["content"]) == row["characters"],
                is_kept=row["is_kept"],
            )
        return cls.model_validate(
            dict(row)
            | {
                "tool_arguments": _arguments(row["arguments"]),
                "tool_result": result,
                "available_tools": json.decode(row["available_tools"]) if row["available_tools"] else None,
            }
        )


def _arguments(written: str | None) -> Any:
    """Masked, as an object; what the model wrote that is none is shown as it stands."""
    shown = None if written is None else mask_shown(written)
    try:
        return None if shown is None else json.decode(shown)
    except ValueError:
        return shown
