"""What outsiders read of a session."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from midwatch.kit import json
from midwatch.store.chats import ATTEMPTS, CHAT_ENABLED
from midwatch.store.driver import Row, Tx
from midwatch.store.spending import COST_COLUMNS
from midwatch.store.stage_counts import STAGE_COUNTS


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionReading:
    session: dict[str, Any]
    stages: tuple[dict[str, Any], ...]
    executions: tuple[dict[str, Any], ...]
    resumptions: tuple["Resumption", ...]

    def resumed_at(self, stage_id: UUID | None = None) -> list[datetime]:
        """When the investigation went on after an interruption, or the answer in this stage did."""
        return [resumption.at for resumption in self.resumptions if resumption.stage_id == stage_id]


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumption:
    at: datetime
    stage_id: UUID | None
    """Of a question's answer."""


async def read_session(tx: Tx, session_id: UUID) -> SessionReading | None:
    session = await tx.fetchrow(
        f"""
        SELECT s.session_id, s.alert_data, s.alert_type, s.status, s.chain_id, s.author, s.error_message, s.created_at,
               s.started_at, s.completed_at, s.current_stage_index, s.current_stage_id, s.waiting_for, s.warnings,
               s.unverified_targets, s.executive_summary_error, s.runbook_url, s.slack_message_fingerprint,
               s.mcp_selection, s.selected_resources, c.chat_id, {CHAT_ENABLED} AS chat_enabled,
               CASE l.run_kind WHEN 'alert' THEN l.attempts ELSE l.alert_attempts END AS attempts,
               (SELECT count(*) FROM chat_user_messages m WHERE m.chat_id = c.chat_id) AS chat_message_count,
               f.content AS final_analysis, x.content AS executive_summary,
               (extract(epoch FROM coalesce(s.completed_at, clock_timestamp()) - s.started_at) * 1000)::bigint
                   AS duration_ms,
               st.total_stages, k.estimated_cost_usd, k.cost_completeness, k.unpriced_interaction_count
        FROM alert_sessions s
        {STAGE_COUNTS}
        CROSS JOIN LATERAL (SELECT {COST_COLUMNS} FROM llm_interactions WHERE session_id = s.session_id) k
        JOIN session_leases l USING (session_id)
        LEFT JOIN chats c USING (session_id)
        LEFT JOIN texts f ON f.session_id = s.session_id AND f.text_id = s.final_analysis_text_id
        LEFT JOIN texts x ON x.session_id = s.session_id AND x.text_id = s.executive_summary_text_id
        WHERE s.session_id = $1 AND s.deleted_at IS NULL
        """,  # noqa: S608 -- nothing but columns of ours
        session_id,
    )
    if session is None:
        return None
    stages = await tx.fetch(_STAGES, session_id)
    executions = await tx.fetch(_EXECUTIONS, session_id)
    resumed = await tx.fetch(
        "SELECT created_at AS at, stage_id FROM timeline_events "
        "WHERE session_id = $1 AND event_type = 'session_resumed' ORDER BY sequence_number",
        session_id,
    )
    return SessionReading(
        session=_decoded(session),
        stages=tuple(dict(row) for row in stages),
        executions=tuple(dict(row) for row in executions),
        resumptions=tuple(Resumption(**dict(row)) for row in resumed),
    )


_STAGES = f"SELECT *, {ATTEMPTS} FROM stages WHERE session_id = $1 ORDER BY stage_index"  # noqa: S608 -- ours too

_EXECUTIONS = f"""
    SELECT e.execution_id, e.stage_id, e.agent_name, e.agent_index, e.status, e.llm_provider, e.llm_backend,
           e.model_name, e.started_at, e.completed_at, e.duration_ms, e.error_message,
           e.original_llm_provider, e.original_llm_backend, e.original_model_name, e.fallback_reason,
           e.fallback_error_code, e.fallback_attempt, l.estimated_cost_usd,
           coalesce(l.cost_completeness, 'none') AS cost_completeness,
           coalesce(l.unpriced_interaction_count, 0) AS unpriced_interaction_count,
           coalesce(l.input_tokens, 0) AS input_tokens, coalesce(l.output_tokens, 0) AS output_tokens,
           coalesce(l.calls, 0) AS llm_interaction_count, coalesce(m.calls, 0) AS mcp_interaction_count
    FROM agent_executions e
    LEFT JOIN (
        SELECT execution_id, sum(input_tokens) AS input_tokens, sum(output_tokens) AS output_tokens, count(*) AS calls,
               {COST_COLUMNS}
        FROM llm_interactions WHERE session_id = $1 GROUP BY execution_id
    ) l USING (execution_id)
    LEFT JOIN (
        SELECT execution_id, count(*) AS calls FROM mcp_interactions WHERE session_id = $1 GROUP BY execution_id
    ) m USING (execution_id)
    WHERE e.session_id = $1 ORDER BY e.stage_id, e.agent_index
"""  # noqa: S608 -- nothing but columns of ours


def _decoded(row: Row) -> dict[str, Any]:
    session: dict[str, Any] = dict(row)
    for column in ("warnings", "unverified_targets"):
        session[column] = json.decode(session[column])
    selection = session["mcp_selection"]
    session["mcp_selection"] = None if selection is None else json.decode(selection)
    return session


async def read_session_status(tx: Tx, session_id: UUID) -> Row | None:
    return await tx.fetchrow(
        """
        SELECT s.session_id AS id, s.status, s.error_message, f.content AS final_analysis,
               x.content AS executive_summary
        FROM alert_sessions s
        LEFT JOIN texts f ON f.session_id = s.session_id AND f.text_id = s.final_analysis_text_id
        LEFT JOIN texts x ON x.session_id = s.session_id AND x.text_id = s.executive_summary_text_id
        WHERE s.session_id = $1 AND s.deleted_at IS NULL
        """,
        session_id,
    )


async def read_session_statistics(tx: Tx, session_id: UUID) -> Row | None:
    return await tx.fetchrow(
        f"""
        SELECT s.session_id, s.current_stage_index, st.total_stages,
               (extract(epoch FROM coalesce(s.completed_at, clock_timestamp()) - s.started_at) * 1000)::bigint
                   AS total_duration_ms,
               st.completed_stages, st.failed_stages, l.calls AS llm_interactions, l.input_tokens, l.output_tokens,
               l.estimated_cost_usd, l.cost_completeness, l.unpriced_interaction_count,
               (SELECT count(*) FROM mcp_interactions m WHERE m.session_id = s.session_id) AS mcp_interactions
        FROM alert_sessions s
        {STAGE_COUNTS}
        CROSS JOIN LATERAL (
            SELECT count(*) AS calls, coalesce(sum(input_tokens), 0) AS input_tokens,
                   coalesce(sum(output_tokens), 0) AS output_tokens, {COST_COLUMNS}
            FROM llm_interactions WHERE session_id = s.session_id
        ) l
        WHERE s.session_id = $1 AND s.deleted_at IS NULL
        """,  # noqa: S608 -- nothing but columns of ours
        session_id,
    )


async def session_exists(tx: Tx, session_id: UUID) -> bool:
    return await tx.fetchval(
        "SELECT EXISTS (SELECT FROM alert_sessions WHERE session_id = $1 AND deleted_at IS NULL)", session_id
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueDepth:
    queued: int
    """Sessions that nobody has taken yet."""
    active: int
    """Sessions that a replica holds."""


async def read_queue_depth(tx: Tx) -> QueueDepth:
    row = await tx.fetchrow(
        """
        SELECT (SELECT count(*) FROM alert_sessions WHERE status = 'pending' AND deleted_at IS NULL) AS queued,
               (SELECT count(*) FROM session_leases WHERE run_kind = 'alert' AND expires_at > clock_timestamp())
                   AS active
        """
    )
    assert row is not None  # noqa: S101 -- a query without FROM has one row
    return QueueDepth(queued=row["queued"], active=row["active"])
