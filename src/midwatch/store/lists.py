"""Lists of sessions: filtered, sorted, in pages, at a cost that does not grow with the table.

Conditions are put together from the fragments below; whatever a caller said travels as a parameter.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from midwatch.domain.session import SessionStatus
from midwatch.store.driver import Row, Tx
from midwatch.store.spending import COST_COLUMNS
from midwatch.store.stage_counts import STAGE_COUNTS

REACH = 10_000
"""So many sessions can be paged through and are counted; whoever needs others narrows the list."""
SEARCH_REACH = 1_000
"""Of a search, because each match is looked up by itself."""


class SortKey(StrEnum):
    CREATED_AT = "created_at"
    STATUS = "status"
    ALERT_TYPE = "alert_type"
    AUTHOR = "author"
    DURATION = "duration"
    """Of sessions that have ended; all others count as longer."""


class SortOrder(StrEnum):
    ASCENDING = "asc"
    DESCENDING = "desc"


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    statuses: Sequence[SessionStatus] = ()
    alert_type: str | None = None
    chain_id: str | None = None
    query: str | None = None
    """As `store.search` writes it."""
    start: datetime | None = None
    end: datetime | None = None
    sort_key: SortKey = SortKey.CREATED_AT
    sort_order: SortOrder = SortOrder.DESCENDING
    limit: int = 25
    offset: int = 0

    @property
    def reach(self) -> int:
        return REACH if self.query is None else SEARCH_REACH


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPage:
    rows: Sequence[Row]
    total: int
    """At most the listing's reach."""
    is_capped: bool


_ORDERS = {
    SortKey.CREATED_AT: "s.created_at {0}, s.session_id {0}",
    SortKey.STATUS: "s.status {0}, s.created_at {0}, s.session_id {0}",
    SortKey.ALERT_TYPE: "s.alert_type {0}, s.created_at {0}, s.session_id {0}",
    SortKey.AUTHOR: "s.author {0}, s.created_at {0}, s.session_id {0}",
    SortKey.DURATION: "(s.completed_at - s.started_at) {0}, s.created_at {0}, s.session_id {0}",
}
_DIRECTIONS = {SortOrder.ASCENDING: "ASC", SortOrder.DESCENDING: "DESC"}

_ITEMS = """
    SELECT s.session_id AS id, s.alert_type, s.chain_id, s.status, s.author, s.created_at, s.started_at, s.completed_at,
           (extract(epoch FROM coalesce(s.completed_at, clock_timestamp()) - s.started_at) * 1000)::bigint
               AS duration_ms,
           s.error_message, x.content AS executive_summary, s.waiting_for, s.current_stage_index, s.current_stage_id,
           st.total_stages, st.completed_stages, st.failed_stages,
           st.has_parallel_stages, ex.has_sub_agents, tl.provider_fallback_count, l.llm_interaction_count,
           m.mcp_interaction_count, l.input_tokens, l.output_tokens, l.input_tokens + l.output_tokens AS total_tokens,
           l.estimated_cost_usd, l.cost_completeness, l.unpriced_interaction_count, c.chat_message_count,
           {matched} AS matched_in_content
    FROM page
    JOIN alert_sessions s USING (session_id)
    {document}
    LEFT JOIN texts x ON x.session_id = s.session_id AND x.text_id = s.executive_summary_text_id
    {stages}
    CROSS JOIN LATERAL (
        SELECT coalesce(bool_or(parent_execution_id IS NOT NULL), false) AS has_sub_agents
        FROM agent_executions WHERE session_id = s.session_id
    ) ex
    CROSS JOIN LATERAL (
        SELECT count(*) AS provider_fallback_count
        FROM timeline_events WHERE session_id = s.session_id AND event_type = 'provider_fallback'
    ) tl
    CROSS JOIN LATERAL (
        SELECT count(*) AS llm_interaction_count, coalesce(sum(input_tokens), 0) AS input_tokens,
               coalesce(sum(output_tokens), 0) AS output_tokens, {costs}
        FROM llm_interactions WHERE session_id = s.session_id
    ) l
    CROSS JOIN LATERAL (
        SELECT count(*) AS mcp_interaction_count FROM mcp_interactions WHERE session_id = s.session_id
    ) m
    CROSS JOIN LATERAL (
        SELECT count(*) AS chat_message_count
        FROM chats JOIN chat_user_messages USING (chat_id) WHERE chats.session_id = s.session_id
    ) c
"""


async def list_sessions(tx: Tx, listing: Listing) -> SessionPage:
    """Run in a transaction: plans are made for the values at hand, and only there."""
    await tx.execute("SELECT set_config('plan_cache_mode', 'force_custom_plan', true)")
    source, arguments = _select(listing)
    order = _ORDERS[listing.sort_key].format(_DIRECTIONS[listing.sort_order])
    searching = listing.query is not None
    items = _ITEMS.format(
        costs=COST_COLUMNS,
        stages=STAGE_COUNTS,
        matched="NOT d.headline @@ $1::text::tsquery" if searching else "false",
        document="JOIN session_documents d USING (session_id)" if searching else "",
    )
    count = len(arguments)
    page = f"SELECT s.session_id {source} ORDER BY {order} LIMIT ${count + 1} OFFSET ${count + 2}"
    rows = await tx.fetch(
        f"WITH page AS ({page}) {items} ORDER BY {order}",
        *arguments,
        listing.limit,
        listing.offset,
    )
    total = await _count(tx, listing, rows)
    return SessionPage(rows=rows, total=min(total, listing.reach), is_capped=total > listing.reach)


async def _count(tx: Tx, listing: Listing, rows: Sequence[Row]) -> int:
    """A page that is not full tells by itself where the list ends."""
    if 0 < len(rows) < listing.limit or not (rows or listing.offset):
        return listing.offset + len(rows)
    source, arguments = _select(listing)
    return await tx.fetchval(
        f"SELECT count(*) FROM (SELECT {source} LIMIT {listing.reach + 1}) matches",  # noqa: S608 -- as above
        *arguments,
    )


def _select(listing: Listing) -> tuple[str, list[object]]:
    """FROM and WHERE, with their arguments. A search is the first of them."""
    conditions = ["s.deleted_at IS NULL"]
    arguments: list[object] = []
    source = "FROM alert_sessions s"
    if listing.query is not None:
        source += " JOIN session_documents d USING (session_id)"
    for fragment, value in _conditions(listing):
        if value is not None:
            arguments.append(value)
            conditions.append(fragment.format(f"${len(arguments)}"))
    return f"{source} WHERE {' AND '.join(conditions)}", arguments


def _conditions(listing: Listing) -> list[tuple[str, object]]:
    return [
        ("d.content @@ {0}::text::tsquery", listing.query),
        ("s.status = ANY({0}::text[])", [str(status) for status in listing.statuses] or None),
        ("s.alert_type = {0}", listing.alert_type),
        ("s.chain_id = {0}", listing.chain_id),
        ("s.created_at >= {0}", listing.start),
        ("s.created_at <= {0}", listing.end),
    ]


_MOST_QUEUED = 200
_MOST_OPTIONS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class ActiveSessions:
    active: Sequence[Row]
    queued: Sequence[Row]
    """Those that wait the longest, in the order in which they will be taken."""


async def read_active(tx: Tx) -> ActiveSessions:
    columns = (
        "session_id AS id, alert_type, chain_id, status, author, created_at, started_at, current_stage_index, "
        "current_stage_id, waiting_for"
    )
    active = await tx.fetch(
        f"SELECT {columns} FROM alert_sessions "  # noqa: S608 -- the columns above
        "WHERE status IN ('in_progress', 'cancelling') AND deleted_at IS NULL ORDER BY started_at, session_id"
    )
    queued = await tx.fetch(
        f"SELECT {columns}, row_number() OVER (ORDER BY created_at) AS queue_position "  # noqa: S608 -- the columns above
        "FROM alert_sessions WHERE status = 'pending' AND deleted_at IS NULL "
        f"ORDER BY created_at LIMIT {_MOST_QUEUED}"
    )
    return ActiveSessions(active=active, queued=queued)


async def read_filter_options(tx: Tx) -> Mapping[str, Sequence[str]]:
    return {"alert_types": await _read_distinct(tx, "alert_type"), "chain_ids": await _read_distinct(tx, "chain_id")}


async def _read_distinct(tx: Tx, column: str) -> list[str]:
    """Jumps from one value to the next in the column's index, instead of reading every row."""
    rows: Sequence[Any] = await tx.fetch(
        f"""
        WITH RECURSIVE options AS (
            (SELECT {column} AS value FROM alert_sessions WHERE deleted_at IS NULL ORDER BY {column} LIMIT 1)
            UNION ALL
            SELECT (SELECT s.{column} FROM alert_sessions s
                    WHERE s.deleted_at IS NULL AND s.{column} > options.value ORDER BY s.{column} LIMIT 1)
            FROM options WHERE options.value IS NOT NULL
        )
        SELECT value FROM options WHERE value IS NOT NULL LIMIT {_MOST_OPTIONS}
        """  # noqa: S608 -- called with the names above
    )
    return [row["value"] for row in rows]
