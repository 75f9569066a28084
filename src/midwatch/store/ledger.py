"""The ledger of what left for models, read back: each body put together again and proven by its hash."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from midwatch.kit.delta import Delta, apply_delta
from midwatch.store.driver import Row, Tx

KEPT = timedelta(days=30)

_COLUMNS = (
    "request_id, base_id, interaction_id, execution_id, sent_at, provider, model, host, path, size, sha256, heads, "
    "literal, tail"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outbound:
    request_id: UUID
    interaction_id: UUID | None
    """None when the run was stopped before an answer came."""
    execution_id: UUID
    sent_at: datetime
    provider: str
    model: str
    host: str
    path: str
    size: int
    sha256: bytes
    parts: int
    """Of how many stored pieces the body is put together."""
    body: bytes | None = field(repr=False)
    """As it was sent; None when what is stored does not add up to it."""


async def read_outbound(tx: Tx, session_id: UUID, *, execution_id: UUID | None = None) -> Sequence[Row]:
    """The rows of a session, or of one of its executions; `rebuild` makes sense of them."""
    return await tx.fetch(
        f"SELECT {_COLUMNS} FROM outbound_requests WHERE session_id = $1 "  # noqa: S608 -- nothing but columns of ours
        "AND execution_id = coalesce($2, execution_id) ORDER BY sent_at, request_id",
        session_id,
        execution_id,
    )


async def find_interaction(tx: Tx, session_id: UUID, interaction_id: UUID) -> Row | None:
    """The execution of a model call, and when it was."""
    return await tx.fetchrow(
        "SELECT execution_id, created_at, clock_timestamp() - created_at AS age FROM llm_interactions "
        "WHERE session_id = $1 AND interaction_id = $2",
        session_id,
        interaction_id,
    )


def find_last(rows: Sequence[Row], interaction_id: UUID) -> UUID | None:
    """The last request that was sent for this call."""
    return next((row["request_id"] for row in reversed(rows) if row["interaction_id"] == interaction_id), None)


def rebuild(rows: Sequence[Row]) -> list[Outbound]:
    """In the order in which they were sent. Takes time with the square of a long conversation: not for the loop."""
    bodies = {request_id: (parts, body) for request_id, parts, body in _walk(rows)}
    return [_outbound(row, *bodies.get(row["request_id"], (0, None))) for row in rows]


def rebuild_one(rows: Sequence[Row], request_id: UUID) -> Outbound | None:
    """The same for one of the rows; the others are what it may be told in terms of."""
    by_id = {row["request_id"]: row for row in rows}
    if request_id not in by_id:
        return None
    parts, body = 0, None
    for number, (_, _, rebuilt) in enumerate(_walk(_trace_back(by_id, request_id)), start=1):
        parts, body = number, rebuilt
    return _outbound(by_id[request_id], parts, body)


async def expire_outbound(tx: Tx, *, older_than: timedelta, limit: int) -> int:
    """Deletes what a few executions sent, each as a whole: its bodies lean on one another. Returns how many."""
    gone = await tx.fetch(
        """
        WITH old AS (
            SELECT DISTINCT session_id, execution_id FROM outbound_requests o
            WHERE sent_at < clock_timestamp() - $1::interval AND NOT EXISTS (
                SELECT FROM outbound_requests y WHERE y.session_id = o.session_id
                AND y.execution_id = o.execution_id AND y.sent_at >= clock_timestamp() - $1::interval
            ) LIMIT $2
        ), gone AS (
            DELETE FROM outbound_requests o USING old
            WHERE o.session_id = old.session_id AND o.execution_id = old.execution_id
        )
        SELECT execution_id FROM old
        """,
        older_than,
        limit,
    )
    return len(gone)


def _trace_back(by_id: dict[UUID, Row], request_id: UUID) -> list[Row]:
    """From the first that it leans on to itself; nothing when one is missing."""
    path: list[Row] = []
    wanted: UUID | None = request_id
    while wanted is not None:
        row = by_id.get(wanted)
        if row is None:
            return []
        path.append(row)
        wanted = row["base_id"]
    return path[::-1]


def _walk(rows: Sequence[Row]) -> Iterator[tuple[UUID, int, bytes | None]]:
    """Along every chain from its beginning: the request, of how many pieces it is made, and its body."""
    following = {row["base_id"]: row for row in rows if row["base_id"] is not None}
    for first in rows:
        row, parts, body = first if first["base_id"] is None else None, 0, b""
        while row is not None:
            parts, body = parts + 1, apply_delta(body, _delta(row))
            yield row["request_id"], parts, body if _is_proven(row, body) else None
            row = following.get(row["request_id"])


def _delta(row: Row) -> Delta:
    places = iter(row["heads"])
    return Delta(heads=tuple(zip(places, places, strict=True)), literal=row["literal"], tail=row["tail"])


def _is_proven(row: Row, body: bytes) -> bool:
    return len(body) == row["size"] and hashlib.sha256(body).digest() == row["sha256"]


def _outbound(row: Row, parts: int, body: bytes | None) -> Outbound:
    return Outbound(
        request_id=row["request_id"],
        interaction_id=row["interaction_id"],
        execution_id=row["execution_id"],
        sent_at=row["sent_at"],
        provider=row["provider"],
        model=row["model"],
        host=row["host"],
        path=row["path"],
        size=row["size"],
        sha256=row["sha256"],
        parts=parts,
        body=body,
    )
