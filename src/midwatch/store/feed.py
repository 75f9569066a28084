"""What is read for those who watch: events in order, the timeline, and streams that are still running."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from midwatch.store.driver import Row, Tx

FEED_CHANNEL = "midwatch_feed"

SHOWN_CHARACTERS = 32_000
"""How much of a text the feed and the timeline show; the journal keeps all of it."""


async def read_events(tx: Tx, after: Mapping[UUID, int], *, limit: int) -> Sequence[Row]:
    """Events of several sessions past a sequence number each, in order, with what they are about."""
    return await tx.fetch(
        """
        SELECT e.session_id, e.seq, e.created_at, e.type, e.ref, e.payload,
               t.event_type, t.status, t.sequence_number, t.metadata, t.parent_execution_id,
               coalesce(t.stage_id, l.stage_id, m.stage_id) AS stage_id,
               coalesce(t.execution_id, l.execution_id, m.execution_id) AS execution_id,
               CASE WHEN l.interaction_id IS NOT NULL THEN 'llm' WHEN m.interaction_id IS NOT NULL THEN 'mcp' END
                   AS interaction_type,
               left(x.content, $3) AS content, length(x.content) AS content_length,
               c.call_id, c.tool_name, c.arguments, c.error_code, c.state AS call_state, c.verdict
        FROM unnest($1::uuid[], $2::bigint[]) AS w(session_id, after)
        JOIN events e ON e.session_id = w.session_id AND e.seq > w.after
        LEFT JOIN timeline_events t ON t.event_id = e.ref
            AND e.type IN ('timeline_event.created', 'timeline_event.completed')
        LEFT JOIN texts x ON x.session_id = e.session_id AND x.text_id = t.text_id
        LEFT JOIN tool_calls c ON c.call_id = t.call_id
        LEFT JOIN llm_interactions l ON l.session_id = e.session_id AND l.interaction_id = e.ref
            AND e.type = 'interaction.created'
        LEFT JOIN mcp_interactions m ON m.session_id = e.session_id AND m.interaction_id = e.ref
            AND e.type = 'interaction.created'
        ORDER BY e.session_id, e.seq
        LIMIT $4
        """,
        list(after.keys()),
        list(after.values()),
        SHOWN_CHARACTERS,
        limit,
    )


async def read_positions(tx: Tx, sessions: Sequence[UUID]) -> dict[UUID, int]:
    rows = await tx.fetch("SELECT session_id, seq FROM session_feeds WHERE session_id = ANY($1)", list(sessions))
    return {row["session_id"]: row["seq"] for row in rows}


async def oldest_event(tx: Tx, session_id: UUID) -> int | None:
    return await tx.fetchval("SELECT min(seq) FROM events WHERE session_id = $1", session_id)


async def notify_feed(tx: Tx, payloads: Sequence[str]) -> None:
    await tx.execute("SELECT pg_notify($1, p) FROM unnest($2::text[]) AS p", FEED_CHANNEL, list(payloads))


async def read_timeline(tx: Tx, session_id: UUID) -> Sequence[Row]:
    return await tx.fetch(
        """
        SELECT t.event_id, t.session_id, t.stage_id, t.execution_id, t.parent_execution_id, t.sequence_number,
               t.created_at, t.updated_at, t.event_type, t.status, t.metadata, t.llm_interaction_id,
               t.mcp_interaction_id, left(x.content, $2) AS content, length(x.content) AS content_length,
               c.call_id, c.tool_name, c.arguments, c.error_code, c.state AS call_state, c.verdict
        FROM timeline_events t
        LEFT JOIN texts x ON x.session_id = t.session_id AND x.text_id = t.text_id
        LEFT JOIN tool_calls c ON c.call_id = t.call_id
        WHERE t.session_id = $1 ORDER BY t.sequence_number
        """,
        session_id,
        SHOWN_CHARACTERS,
    )


async def read_live_texts(tx: Tx, session_id: UUID) -> Sequence[Row]:
    """Streams that run now, or were cut when their owner died. A session that has ended has none, whatever is left."""
    return await tx.fetch(
        """
        SELECT l.event_id, l.stage_id, l.execution_id, l.event_type, l.content, l.updated_at
        FROM live_texts l JOIN session_leases h ON h.session_id = l.session_id AND h.expires_at IS NOT NULL
        WHERE l.session_id = $1 AND NOT EXISTS (SELECT FROM timeline_events t WHERE t.event_id = l.event_id)
        ORDER BY l.event_id
        """,
        session_id,
    )


async def keep_live_texts(tx: Tx, rows: Sequence[tuple[UUID, UUID, int, UUID, UUID, str, str]]) -> None:
    """Rows of (event, session, epoch, stage, execution, type, text so far).

    Kept only under a lease that still holds: whoever was frozen until the session went on elsewhere, or ended, would
    leave texts behind that nobody takes away.
    """
    events, sessions, epochs, stages, executions, types, contents = map(list, zip(*rows, strict=True))
    await tx.execute(
        """
        INSERT INTO live_texts (event_id, session_id, stage_id, execution_id, event_type, content)
        SELECT e, s, st, ex, ty::timeline_word, c
        FROM unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::uuid[], $5::uuid[], $6::text[], $7::text[])
            AS r(e, s, epoch, st, ex, ty, c)
        JOIN session_leases l ON l.session_id = r.s AND l.epoch = r.epoch AND l.expires_at IS NOT NULL
        ON CONFLICT (event_id) DO UPDATE SET content = excluded.content, updated_at = clock_timestamp()
        """,
        events,
        sessions,
        epochs,
        stages,
        executions,
        types,
        contents,
    )


async def drop_live_texts(tx: Tx, events: Sequence[UUID]) -> None:
    await tx.execute("DELETE FROM live_texts WHERE event_id = ANY($1)", list(events))


async def drop_session_live_texts(tx: Tx, session_id: UUID) -> None:
    await tx.execute("DELETE FROM live_texts WHERE session_id = $1", session_id)
