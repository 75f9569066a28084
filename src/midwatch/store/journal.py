"""The journal: everything a run writes while it works, as one batch, in one statement, under the fence.

One statement is one transaction: it costs one round trip, and a process cannot be frozen in the middle of it.
"""

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from midwatch.domain.errors import LeaseLost
from midwatch.domain.messages import Role, Usage
from midwatch.domain.timeline import EventType, InteractionType, TimelineStatus, TimelineType
from midwatch.domain.tools import CallState
from midwatch.kit import json
from midwatch.kit.ids import new_id
from midwatch.store.driver import Tx, UniqueViolation
from midwatch.store.fence import Event, Fence


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    text_id: UUID
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMessage:
    message_id: UUID
    sequence_number: int
    role: Role
    text_id: UUID | None
    tool_call_id: str | None = None
    tool_name: str | None = None
    is_error: bool | None = None
    provider_state: str | None = None
    """Hexadecimal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedCall:
    call_id: UUID
    message_sequence: int
    call_index: int
    provider_call_id: str
    tool_name: str
    arguments: str
    event_id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class SettledCall:
    call_id: UUID
    state: CallState
    result_text_id: UUID | None
    error_code: str | None
    verdict: dict[str, Any] | None
    arguments: str | None = None
    """What was sent, when it is not what was requested."""
    targets: list[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmInteraction:
    interaction_id: UUID
    interaction_type: InteractionType
    llm_provider: str
    model_name: str
    last_message_sequence: int | None
    llm_request: dict[str, Any]
    response_text_id: UUID | None
    thinking_text_id: UUID | None
    usage: Usage
    duration_ms: int
    error_message: str | None = None
    estimated_cost_usd: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class McpInteraction:
    interaction_id: UUID
    server_name: str
    tool_name: str
    call_id: UUID | None
    """None when code asked for it, and not a model."""
    duration_ms: int
    error_message: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineEvent:
    event_id: UUID
    event_type: TimelineType
    status: TimelineStatus
    text_id: UUID | None
    told: int
    """Which event of this batch announces it; its place in the session's timeline."""
    metadata: dict[str, Any] | None = None
    call_id: UUID | None = None
    llm_interaction_id: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedEvent:
    event_id: UUID
    status: TimelineStatus
    text_id: UUID | None
    mcp_interaction_id: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboundRequest:
    """What left for a model: its body in terms of the one before, as `kit.delta` tells it."""

    request_id: UUID
    base_id: UUID | None
    interaction_id: UUID | None
    provider: str
    model: str
    host: str
    path: str
    age: float
    """Seconds since it was sent."""
    size: int
    sha256: str
    """Hexadecimal."""
    heads: list[int]
    literal: str
    """In base 64."""
    tail: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeResult:
    """All that a tool answered, where the texts hold only a part of it."""

    call_id: UUID
    characters: int
    content: str
    """Compressed, in base 64."""


@dataclass(slots=True)
class Batch:
    """Rows of one commit. A text is added once and referenced by its id."""

    texts: list[Text] = field(default_factory=list[Text])
    messages: list[StoredMessage] = field(default_factory=list[StoredMessage])
    requested: list[RequestedCall] = field(default_factory=list[RequestedCall])
    settled: list[SettledCall] = field(default_factory=list[SettledCall])
    llm: list[LlmInteraction] = field(default_factory=list[LlmInteraction])
    mcp: list[McpInteraction] = field(default_factory=list[McpInteraction])
    timeline: list[TimelineEvent] = field(default_factory=list[TimelineEvent])
    closed: list[ClosedEvent] = field(default_factory=list[ClosedEvent])
    events: list[Event] = field(default_factory=list[Event])
    outbound: list[OutboundRequest] = field(default_factory=list[OutboundRequest])
    wholes: list[WholeResult] = field(default_factory=list[WholeResult])

    def add_text(self, content: str) -> UUID:
        text_id = new_id()
        self.texts.append(Text(text_id=text_id, content=content))
        return text_id

    def tell(self, event_type: EventType, ref: UUID | None = None, payload: dict[str, Any] | None = None) -> int:
        """Adds an event and returns its place in this batch, counted from one."""
        self.events.append(Event(type=event_type, ref=ref, payload=payload))
        return len(self.events)


_ROWS = """
WITH fence AS (
    UPDATE session_feeds SET seq = seq + $3, progressed = progressed OR $4
    WHERE session_id = $1 AND epoch = $2 RETURNING seq, seq - $3 AS base
), doc AS (
    SELECT fence.base, $7::jsonb AS d FROM fence
), new_texts AS (
    INSERT INTO texts (session_id, text_id, content)
    SELECT $1, r.text_id, r.content
    FROM doc, jsonb_to_recordset(d->'texts') AS r(text_id uuid, content text)
), new_messages AS (
    INSERT INTO messages (message_id, session_id, stage_id, execution_id, sequence_number, role, text_id,
                          tool_call_id, tool_name, is_error, provider_state)
    SELECT r.message_id, $1, $5, $6, r.sequence_number, r.role, r.text_id, r.tool_call_id, r.tool_name, r.is_error,
           decode(r.provider_state, 'hex')
    FROM doc, jsonb_to_recordset(d->'messages') AS r(message_id uuid, sequence_number integer,
        role message_role, text_id uuid, tool_call_id text, tool_name text, is_error boolean, provider_state text)
), requested AS (
    INSERT INTO tool_calls (call_id, session_id, execution_id, message_sequence, call_index, state,
                            provider_call_id, tool_name, arguments, event_id)
    SELECT r.call_id, $1, $6, r.message_sequence, r.call_index, 'requested',
           r.provider_call_id, r.tool_name, r.arguments, r.event_id
    FROM doc, jsonb_to_recordset(d->'requested') AS r(call_id uuid, message_sequence integer, call_index smallint,
        provider_call_id text, tool_name text, arguments text, event_id uuid)
), settled AS (
    UPDATE tool_calls c SET state = r.state, result_text_id = r.result_text_id, error_code = r.error_code,
           verdict = coalesce(r.verdict, c.verdict), arguments = coalesce(r.arguments, c.arguments),
           targets = coalesce(r.targets, c.targets)
    FROM doc, jsonb_to_recordset(d->'settled') AS r(call_id uuid, state call_state, result_text_id uuid,
        error_code text, verdict jsonb, arguments text, targets text[])
    WHERE c.call_id = r.call_id
), changes_over AS (
    DELETE FROM open_changes o
    USING doc, jsonb_to_recordset(d->'settled') AS r(call_id uuid, state text)
    WHERE o.call_id = r.call_id AND r.state = 'finished'
), llm AS (
    INSERT INTO llm_interactions (interaction_id, session_id, stage_id, execution_id, interaction_type, llm_provider,
        model_name, last_message_sequence, llm_request, response_text_id, thinking_text_id, input_tokens,
        output_tokens, thinking_tokens, cache_read_tokens, cache_write_tokens, duration_ms, error_message,
        estimated_cost_usd)
    SELECT r.interaction_id, $1, $5, $6, r.interaction_type, r.llm_provider, r.model_name, r.last_message_sequence,
        r.llm_request, r.response_text_id, r.thinking_text_id, (r.usage->>'input_tokens')::int,
        (r.usage->>'output_tokens')::int, (r.usage->>'thinking_tokens')::int, (r.usage->>'cache_read_tokens')::int,
        (r.usage->>'cache_write_tokens')::int, r.duration_ms, r.error_message, r.estimated_cost_usd
    FROM doc, jsonb_to_recordset(d->'llm') AS r(interaction_id uuid, interaction_type text, llm_provider text,
        model_name text, last_message_sequence integer, llm_request jsonb, response_text_id uuid,
        thinking_text_id uuid, usage jsonb, duration_ms integer, error_message text,
        estimated_cost_usd double precision)
), mcp AS (
    INSERT INTO mcp_interactions (interaction_id, session_id, stage_id, execution_id, interaction_type, server_name,
        tool_name, call_id, duration_ms, error_message)
    SELECT r.interaction_id, $1, $5, $6, 'tool_call', r.server_name, r.tool_name, r.call_id, r.duration_ms,
        r.error_message
    FROM doc, jsonb_to_recordset(d->'mcp') AS r(interaction_id uuid, server_name text, tool_name text, call_id uuid,
        duration_ms integer, error_message text)
), timeline AS (
    INSERT INTO timeline_events (event_id, session_id, stage_id, execution_id, sequence_number, event_type, status,
        text_id, metadata, call_id, llm_interaction_id)
    SELECT r.event_id, $1, $5, $6, doc.base + r.told, r.event_type, r.status, r.text_id, r.metadata, r.call_id,
        r.llm_interaction_id
    FROM doc, jsonb_to_recordset(d->'timeline') AS r(event_id uuid, event_type timeline_word,
        status timeline_state, text_id uuid, told integer, metadata jsonb, call_id uuid, llm_interaction_id uuid)
), closed AS (
    UPDATE timeline_events t SET status = r.status, text_id = r.text_id, updated_at = clock_timestamp(),
        mcp_interaction_id = r.mcp_interaction_id
    FROM doc, jsonb_to_recordset(d->'closed') AS r(event_id uuid, status timeline_state, text_id uuid,
        mcp_interaction_id uuid)
    WHERE t.event_id = r.event_id
), told AS (
    INSERT INTO events (session_id, seq, type, ref, payload)
    SELECT $1, doc.base + e.n, e.type, e.ref, e.payload
    FROM doc, ROWS FROM (jsonb_to_recordset(d->'events') AS (type event_word, ref uuid, payload jsonb))
        WITH ORDINALITY AS e(type, ref, payload, n)
)
"""
# Apart: even a part of a statement that writes nothing costs time, and most commits are none of a model call.
_OUTBOUND = """, outbound AS (
    INSERT INTO outbound_requests (sent_at, size, tail, session_id, execution_id, request_id, base_id, interaction_id,
        sha256, provider, model, host, path, heads, literal)
    SELECT clock_timestamp() - r.age * interval '1 second', r.size, r.tail, $1, $6, r.request_id, r.base_id,
        r.interaction_id, decode(r.sha256, 'hex'), r.provider, r.model, r.host, r.path, r.heads,
        decode(r.literal, 'base64')
    FROM doc, jsonb_to_recordset(d->'outbound') AS r(request_id uuid, base_id uuid, interaction_id uuid, provider text,
        model text, host text, path text, age double precision, size integer, sha256 text, heads integer[],
        literal text, tail integer)
)
"""
_WHOLES = """, wholes AS (
    INSERT INTO tool_results (session_id, call_id, characters, content)
    SELECT $1, r.call_id, r.characters, decode(r.content, 'base64')
    FROM doc, jsonb_to_recordset(d->'wholes') AS r(call_id uuid, characters integer, content text)
)
"""
_END = "SELECT seq FROM fence"
_STATEMENTS = {
    (sends, keeps): f"{_ROWS}{_OUTBOUND if sends else ''}{_WHOLES if keeps else ''}{_END}"
    for sends in (False, True)
    for keeps in (False, True)
}


async def commit_batch(
    tx: Tx, fence: Fence, batch: Batch, *, stage_id: UUID | None, execution_id: UUID | None, progressed: bool = True
) -> int:
    """Commits the batch and returns the feed's new sequence number. Raises LeaseLost, AlreadyCommitted."""
    try:
        seq = await tx.fetchval(
            _STATEMENTS[bool(batch.outbound), bool(batch.wholes)],
            fence.session_id,
            fence.epoch,
            len(batch.events),
            progressed,
            stage_id,
            execution_id,
            json.encode_text(batch),
        )
    except UniqueViolation as error:
        raise AlreadyCommitted from error
    if seq is None:
        raise LeaseLost(f"session {fence.session_id} is no longer held under epoch {fence.epoch}")
    return seq


class AlreadyCommitted(Exception):
    """A row of the batch is there: an earlier attempt had gone through although its answer was lost."""
