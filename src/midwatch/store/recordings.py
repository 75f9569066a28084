"""What the models of a session said, turn by turn, as it is stored: masked, and without the calls that failed."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from uuid import UUID

from midwatch.domain.messages import Usage
from midwatch.store.driver import Row, Tx


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedTurn:
    text: str
    thinking: str
    calls: tuple[tuple[str, str], ...]
    """Names and arguments."""
    usage: Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedConversation:
    agent: str
    turns: tuple[RecordedTurn, ...]
    """None where the model never came to an answer."""


async def count_earlier(tx: Tx, session_id: UUID, execution_id: UUID) -> int:
    """How many executions of an agent of the same name come before this one, in the order of the chain."""
    return await tx.fetchval(
        """
        SELECT count(*) FROM agent_executions e JOIN stages s ON s.stage_id = e.stage_id
        JOIN agent_executions own ON own.session_id = e.session_id AND own.agent_name = e.agent_name
        JOIN stages p ON p.stage_id = own.stage_id
        WHERE e.session_id = $1 AND own.execution_id = $2
            AND (s.stage_index, e.agent_index, e.execution_id) < (p.stage_index, own.agent_index, own.execution_id)
        """,
        session_id,
        execution_id,
    )


async def read_recording(tx: Tx, session_id: UUID) -> list[RecordedConversation]:
    """In the order of the chain."""
    replies = await tx.fetch(
        """
        SELECT e.execution_id, e.agent_name, m.sequence_number, t.content AS text, h.content AS thinking,
               coalesce(i.input_tokens, 0) AS input_tokens, coalesce(i.output_tokens, 0) AS output_tokens,
               coalesce(i.thinking_tokens, 0) AS thinking_tokens,
               coalesce(i.cache_read_tokens, 0) AS cache_read_tokens,
               coalesce(i.cache_write_tokens, 0) AS cache_write_tokens
        FROM agent_executions e
        JOIN stages s ON s.stage_id = e.stage_id
        LEFT JOIN messages m ON m.execution_id = e.execution_id AND m.role = 'assistant'
        LEFT JOIN texts t ON t.session_id = e.session_id AND t.text_id = m.text_id
        LEFT JOIN llm_interactions i ON i.session_id = e.session_id AND i.execution_id = e.execution_id
            AND i.last_message_sequence = m.sequence_number - 1 AND i.error_message IS NULL
        LEFT JOIN texts h ON h.session_id = e.session_id AND h.text_id = i.thinking_text_id
        WHERE e.session_id = $1
        ORDER BY s.stage_index, e.agent_index, e.execution_id, m.sequence_number
        """,
        session_id,
    )
    calls = await tx.fetch(
        "SELECT execution_id, message_sequence, tool_name, arguments FROM tool_calls WHERE session_id = $1 "
        "ORDER BY message_sequence, call_index",
        session_id,
    )
    return [
        RecordedConversation(
            agent=agent,
            turns=tuple(_turn(reply, calls) for reply in group if reply["sequence_number"] is not None),
        )
        for (_, agent), group in groupby(replies, key=lambda reply: (reply["execution_id"], reply["agent_name"]))
    ]


def _turn(reply: Row, calls: Sequence[Row]) -> RecordedTurn:
    place = (reply["execution_id"], reply["sequence_number"])
    return RecordedTurn(
        text=reply["text"] or "",
        thinking=reply["thinking"] or "",
        calls=tuple(
            (call["tool_name"], call["arguments"])
            for call in calls
            if (call["execution_id"], call["message_sequence"]) == place
        ),
        usage=Usage(
            input_tokens=reply["input_tokens"],
            output_tokens=reply["output_tokens"],
            thinking_tokens=reply["thinking_tokens"],
            cache_read_tokens=reply["cache_read_tokens"],
            cache_write_tokens=reply["cache_write_tokens"],
        ),
    )
