"""What is known of a run when it is over: rows of its database, effects of its tools, and what everybody was told."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from midwatch.kit import json
from midwatch.store.driver import Tx

Entry = Mapping[str, Any]

_TABLES = {
    "sessions": "SELECT session_id, status, completed_at, error_message FROM alert_sessions",
    "leases": "SELECT * FROM session_leases",
    "stages": "SELECT stage_id, session_id, stage_name, stage_type, status, completed_at FROM stages",
    "executions": "SELECT execution_id, session_id, stage_id, agent_name, status, completed_at FROM agent_executions",
    "events": "SELECT session_id, seq, type, ref, payload FROM events ORDER BY session_id, seq",
    "timeline": (
        "SELECT event_id, session_id, execution_id, event_type::text, status::text, metadata FROM timeline_events"
    ),
    "calls": (
        "SELECT c.call_id, c.session_id, c.execution_id, c.message_sequence, c.call_index, c.provider_call_id, "
        "c.tool_name, c.arguments, c.state::text, c.error_code, c.epoch, m.created_at AS finished_at "
        "FROM tool_calls c LEFT JOIN mcp_interactions m ON m.session_id = c.session_id AND m.call_id = c.call_id"
    ),
    "messages": "SELECT execution_id, sequence_number, role::text, tool_call_id FROM messages ORDER BY 1, 2",
    "outbox": "SELECT session_id, kind, payload FROM outbox",
    "open_changes": "SELECT target, call_id FROM open_changes",
    "cancel_requests": "SELECT session_id, target_id FROM cancel_requests",
    "live_texts": "SELECT session_id, event_id FROM live_texts",
    "dangling": (
        "SELECT r.session_id, r.text_id FROM ("
        "SELECT session_id, text_id FROM messages UNION SELECT session_id, text_id FROM timeline_events "
        "UNION SELECT session_id, result_text_id FROM tool_calls "
        "UNION SELECT session_id, final_text_id FROM agent_executions "
        "UNION SELECT session_id, final_analysis_text_id FROM alert_sessions"
        ") r LEFT JOIN texts t USING (session_id, text_id) WHERE r.text_id IS NOT NULL AND t.text_id IS NULL"
    ),
    "claims": "SELECT * FROM chaos_claims ORDER BY session_id, epoch",
    "passes": "SELECT * FROM chaos_passes ORDER BY session_id, seq",
}
_JSON = ("payload", "metadata")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancel:
    """A person's wish, and the answer."""

    kind: str
    """`session`, `question`, `agent` or `call`: what it was taken for."""
    session_id: str
    target_id: str
    status: int


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    cap: int = 1
    """Sessions that may run at once."""
    accepted: Sequence[str] = ()
    """Sessions whose sender was told 202."""
    questions: Sequence[str] = ()
    """Stages of the questions whose asker was told 202."""
    cancels: Sequence[Cancel] = ()
    sessions: Sequence[Entry] = ()
    leases: Sequence[Entry] = ()
    stages: Sequence[Entry] = ()
    executions: Sequence[Entry] = ()
    events: Sequence[Entry] = ()
    timeline: Sequence[Entry] = ()
    calls: Sequence[Entry] = ()
    messages: Sequence[Entry] = ()
    outbox: Sequence[Entry] = ()
    open_changes: Sequence[Entry] = ()
    cancel_requests: Sequence[Entry] = ()
    live_texts: Sequence[Entry] = ()
    dangling: Sequence[Entry] = ()
    """References to texts that are not there."""
    claims: Sequence[Entry] = ()
    """Every claim: by whom, when, and what stood in the lease before it."""
    passes: Sequence[Entry] = ()
    """Every transaction that passed the fence."""
    heard: Mapping[str, Sequence[tuple[int, str]]] = field(default_factory=dict[str, Sequence[tuple[int, str]]])
    """By session: number and type of each stored event that a reader was sent, from the first on."""
    watched: Mapping[str, Sequence[tuple[int, str]]] = field(default_factory=dict[str, Sequence[tuple[int, str]]])
    """The same of somebody who watched over the WebSocket of one replica after another."""
    effects: Sequence[Entry] = ()
    health: Mapping[str, Entry] = field(default_factory=dict[str, Entry])
    """By surviving replica, once all sessions had ended."""
    exits: Mapping[str, int] = field(default_factory=dict[str, int])
    """By replica that was asked to stop: its exit status."""
    crashed: Sequence[str] = ()
    """Replicas that ended although nobody had asked them to."""
    connections: Mapping[str, int] = field(default_factory=dict[str, int])
    """By replica that is dead: database connections it still has."""
    leftovers: Sequence[str] = ()
    """Processes that outlived all replicas."""
    server_errors: Sequence[str] = ()
    """Requests that were answered with a 500."""


async def read_tables(tx: Tx) -> dict[str, Sequence[Entry]]:
    return {name: [_plain(row) for row in await tx.fetch(query)] for name, query in _TABLES.items()}


def _plain(row: Any) -> dict[str, Any]:
    return {name: _plain_value(name, value) for name, value in row.items()}


def _plain_value(name: str, value: Any) -> Any:
    if name in _JSON:
        return None if value is None else json.decode(value)
    if hasattr(value, "hex") and hasattr(value, "bytes"):
        return str(value)
    return value
