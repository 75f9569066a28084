"""What passed between agents, models and tools, for whoever wants to look behind the timeline."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from midwatch.kit import json
from midwatch.store.driver import Row, Tx
from midwatch.store.feed import SHOWN_CHARACTERS


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    stages: Sequence[Row]
    executions: Sequence[Row]
    llm: Sequence[Row]
    mcp: Sequence[Row]


async def read_trace(tx: Tx, session_id: UUID) -> Trace:
    return Trace(
        stages=await tx.fetch(
            "SELECT stage_id, stage_name, stage_type, referenced_stage_id FROM stages WHERE session_id = $1 "
            "ORDER BY stage_index",
            session_id,
        ),
        executions=await tx.fetch(
            "SELECT execution_id, stage_id, parent_execution_id, agent_name FROM agent_executions "
            "WHERE session_id = $1 ORDER BY agent_index, execution_id",
            session_id,
        ),
        llm=await tx.fetch(
            "SELECT interaction_id AS id, execution_id, interaction_type, model_name, input_tokens, output_tokens, "
            "input_tokens + output_tokens AS total_tokens, estimated_cost_usd, duration_ms, error_message, created_at "
            "FROM llm_interactions WHERE session_id = $1 ORDER BY created_at, interaction_id",
            session_id,
        ),
        mcp=await tx.fetch(
            "SELECT interaction_id AS id, execution_id, interaction_type, server_name, tool_name, duration_ms, "
            "error_message, created_at FROM mcp_interactions WHERE session_id = $1 ORDER BY created_at, interaction_id",
            session_id,
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmReading:
    interaction: dict[str, Any]
    messages: Sequence[Row]
    """What the model was sent."""
    calls: Sequence[Row]
    """All calls of these messages, and of the reply."""
    reply_sequence: int | None
    """Where the reply stands among the messages; None when the call failed."""


async def read_llm_interaction(tx: Tx, session_id: UUID, interaction_id: UUID) -> LlmReading | None:
    row = await tx.fetchrow(
        """
        SELECT i.interaction_id AS id, i.execution_id, i.interaction_type, i.model_name, i.input_tokens,
               i.output_tokens, i.input_tokens + i.output_tokens AS total_tokens, i.estimated_cost_usd, i.duration_ms,
               i.error_message,
               i.llm_request, i.response_metadata, i.created_at, i.last_message_sequence,
               left(t.content, $3) AS thinking_content, length(t.content) AS thinking_length,
               left(r.content, $3) AS response_content, length(r.content) AS response_length
        FROM llm_interactions i
        LEFT JOIN texts t ON t.session_id = i.session_id AND t.text_id = i.thinking_text_id
        LEFT JOIN texts r ON r.session_id = i.session_id AND r.text_id = i.response_text_id
        WHERE i.session_id = $1 AND i.interaction_id = $2
        """,
        session_id,
        interaction_id,
        SHOWN_CHARACTERS,
    )
    if row is None:
        return None
    interaction: dict[str, Any] = dict(row)
    for column in ("llm_request", "response_metadata"):
        interaction[column] = json.decode(interaction[column]) if interaction[column] else None
    last = -1 if row["last_message_sequence"] is None else row["last_message_sequence"]
    return LlmReading(
        interaction=interaction,
        messages=await _read_messages(tx, session_id, row["execution_id"], last=last),
        calls=await _read_calls(tx, row["execution_id"], last=last + 1),
        reply_sequence=None if row["error_message"] else last + 1,
    )


async def _read_messages(tx: Tx, session_id: UUID, execution_id: UUID, *, last: int) -> Sequence[Row]:
    return await tx.fetch(
        """
        SELECT m.sequence_number, m.role, m.tool_call_id, m.tool_name, left(x.content, $4) AS content,
               length(x.content) AS content_length
        FROM messages m LEFT JOIN texts x ON x.session_id = m.session_id AND x.text_id = m.text_id
        WHERE m.execution_id = $2 AND m.session_id = $1 AND m.sequence_number <= $3 ORDER BY m.sequence_number
        """,
        session_id,
        execution_id,
        last,
        SHOWN_CHARACTERS,
    )


async def _read_calls(tx: Tx, execution_id: UUID, *, last: int) -> Sequence[Row]:
    return await tx.fetch(
        "SELECT message_sequence, provider_call_id AS id, tool_name AS name, arguments FROM tool_calls "
        "WHERE execution_id = $1 AND message_sequence <= $2 ORDER BY message_sequence, call_index",
        execution_id,
        last,
    )


async def read_mcp_interaction(tx: Tx, session_id: UUID, interaction_id: UUID) -> Row | None:
    return await tx.fetchrow(
        """
        SELECT i.interaction_id AS id, i.interaction_type, i.server_name, i.tool_name, i.available_tools, i.duration_ms,
               i.error_message, i.created_at, c.arguments, c.error_code, left(x.content, $3) AS content,
               length(x.content) AS content_length, coalesce(w.characters, length(x.content)) AS characters,
               w.call_id IS NULL OR w.content IS NOT NULL AS is_kept
        FROM mcp_interactions i
        LEFT JOIN tool_calls c ON c.call_id = i.call_id
        LEFT JOIN texts x ON x.session_id = i.session_id AND x.text_id = c.result_text_id
        LEFT JOIN tool_results w ON w.session_id = i.session_id AND w.call_id = i.call_id
        WHERE i.session_id = $1 AND i.interaction_id = $2
        """,
        session_id,
        interaction_id,
        SHOWN_CHARACTERS,
    )
