"""What tools answered, read back: the whole of a long result while it is kept, and else what the texts hold of it."""

import zlib
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from midwatch.store.driver import Row, Tx
from midwatch.store.journal import WholeResult

KEPT = timedelta(days=7)

_LEVEL = 1
"""Logs shrink to a quarter or less; the higher levels take several times as long and save little more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredResult:
    call_id: UUID
    tool_name: str
    """`server.tool`, as the model wrote it."""
    error: str | None
    shown: str = field(repr=False)
    """What the timeline holds of it."""
    packed: bytes | None = field(repr=False)
    characters: int
    """Of all there was."""
    finished_at: datetime | None

    @property
    def is_whole(self) -> bool:
        """All there was is still to be had."""
        return self.packed is not None or self.characters <= len(self.shown)

    def unpack(self) -> str:
        """All that is still to be had. Takes time with a large one: not for the loop."""
        return self.shown if self.packed is None else zlib.decompress(self.packed).decode()


def pack(call_id: UUID, text: str) -> WholeResult:
    """Takes time with a large one: not for the loop."""
    content = zlib.compress(text.encode(), _LEVEL)
    return WholeResult(call_id=call_id, characters=len(text), content=b64encode(content).decode())


_COLUMNS = """
    c.call_id, c.tool_name, c.error_code, t.content AS shown, w.content AS packed,
    coalesce(w.characters, length(t.content)) AS characters, i.created_at
"""
_JOINS = """
    LEFT JOIN texts t ON t.session_id = c.session_id AND t.text_id = c.result_text_id
    LEFT JOIN tool_results w ON w.session_id = c.session_id AND w.call_id = c.call_id
    LEFT JOIN mcp_interactions i ON i.session_id = c.session_id AND i.call_id = c.call_id
"""


async def find_result(tx: Tx, session_id: UUID, *, tail: str) -> StoredResult | None:
    """A call of this session whose id ends so; of several the newest."""
    row = await tx.fetchrow(
        f"""
        SELECT {_COLUMNS} FROM agent_executions e JOIN tool_calls c USING (execution_id) {_JOINS}
        WHERE e.session_id = $1 AND right(c.call_id::text, length($2)) = $2 AND c.state = 'finished'
        ORDER BY c.call_id DESC LIMIT 1
        """,  # noqa: S608 -- nothing but columns and tables of ours
        session_id,
        tail,
    )
    return None if row is None else _result(row)


async def read_result(tx: Tx, session_id: UUID, call_id: UUID) -> StoredResult | None:
    row = await tx.fetchrow(
        f"SELECT {_COLUMNS} FROM tool_calls c {_JOINS} "  # noqa: S608 -- nothing but columns and tables of ours
        "WHERE c.session_id = $1 AND c.call_id = $2 AND c.state = 'finished'",
        session_id,
        call_id,
    )
    return None if row is None else _result(row)


async def read_interaction_result(tx: Tx, session_id: UUID, interaction_id: UUID) -> StoredResult | None:
    call_id = await tx.fetchval(
        "SELECT call_id FROM mcp_interactions WHERE session_id = $1 AND interaction_id = $2", session_id, interaction_id
    )
    return None if call_id is None else await read_result(tx, session_id, call_id)


async def has_long_results(tx: Tx, session_id: UUID) -> bool:
    """Some are long only by their server's threshold: they were summed up and are kept as any other text is."""
    return await tx.fetchval(
        """
        SELECT EXISTS (SELECT FROM tool_results WHERE session_id = $1 AND content IS NOT NULL)
            OR EXISTS (
                SELECT FROM llm_interactions WHERE session_id = $1 AND interaction_type = 'summarization'
            )
        """,
        session_id,
    )


async def list_long_results(tx: Tx, session_id: UUID, *, limit: int) -> Sequence[tuple[UUID, str, int]]:
    """Calls, their tools and how many characters came back, newest first."""
    rows = await tx.fetch(
        """
        SELECT w.call_id, c.tool_name, w.characters FROM tool_results w JOIN tool_calls c USING (call_id)
        WHERE w.session_id = $1 AND w.content IS NOT NULL ORDER BY w.call_id DESC LIMIT $2
        """,
        session_id,
        limit,
    )
    return [(row["call_id"], row["tool_name"], row["characters"]) for row in rows]


async def expire_results(tx: Tx, *, older_than: timedelta, limit: int) -> int:
    """Forgets a few old results; what the texts hold of them stays, and how much there was. Returns how many."""
    gone = await tx.fetch(
        """
        UPDATE tool_results SET content = NULL WHERE (session_id, call_id) IN (
            SELECT session_id, call_id FROM tool_results
            WHERE stored_at < clock_timestamp() - $1::interval AND content IS NOT NULL
            LIMIT $2 FOR UPDATE SKIP LOCKED
        ) RETURNING call_id
        """,
        older_than,
        limit,
    )
    return len(gone)


def _result(row: Row) -> StoredResult:
    return StoredResult(
        call_id=row["call_id"],
        tool_name=row["tool_name"],
        error=row["error_code"],
        shown=row["shown"] or "",
        packed=row["packed"],
        characters=row["characters"] or 0,
        finished_at=row["created_at"],
    )
