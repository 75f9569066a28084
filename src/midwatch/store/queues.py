"""How long the queues are, and where in them a session stands. All times are the database's own."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from midwatch.domain.session import RunKind
from midwatch.store.driver import Row, Tx
from midwatch.store.replicas import LiveReplica, list_replicas


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """What waits for a slot of one kind, and what has one."""

    waiting: int
    oldest: timedelta | None
    """How long the first in line has waited."""
    running: int
    left_behind: int
    """Runs whose owner vanished, and that nobody has taken over yet."""
    unreadable: int
    """Runs that nobody alive can read, since a newer version wrote them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueReading:
    alerts: Line
    chats: Line
    replicas: tuple[LiveReplica, ...]

    @property
    def open_replicas(self) -> tuple[LiveReplica, ...]:
        """Those that still take something on."""
        return tuple(replica for replica in self.replicas if not replica.is_draining)

    @property
    def slots(self) -> int:
        return sum(replica.slots for replica in self.open_replicas)

    @property
    def chat_slots(self) -> int:
        return sum(replica.chat_slots for replica in self.open_replicas)


async def read_queue(tx: Tx) -> QueueReading:
    replicas = await list_replicas(tx)
    newest = max((replica.journal_format for replica in replicas), default=0)
    row = await tx.fetchrow(
        """
        WITH held AS (
            SELECT run_kind, owner, claimed_at, expires_at > clock_timestamp() AS runs, released,
                   journal_format > $1 AND $1 > 0 AS is_unreadable
            FROM session_leases WHERE expires_at IS NOT NULL
        ), alerts AS (
            SELECT count(*) FILTER (WHERE runs) AS running, count(*) FILTER (WHERE NOT runs) AS left_behind,
                   count(*) FILTER (WHERE NOT runs AND is_unreadable) AS unreadable
            FROM held WHERE run_kind = 'alert'
        ), chats AS (
            SELECT count(*) FILTER (WHERE runs) AS running,
                   count(*) FILTER (WHERE NOT runs AND owner IS NOT NULL) AS left_behind,
                   count(*) FILTER (WHERE NOT runs AND owner IS NULL) AS waiting,
                   clock_timestamp() - min(claimed_at) FILTER (WHERE NOT runs AND owner IS NULL) AS oldest,
                   count(*) FILTER (WHERE NOT runs AND is_unreadable) AS unreadable
            FROM held WHERE run_kind = 'chat'
        ), pending AS (
            SELECT count(*) AS waiting, clock_timestamp() - min(created_at) AS oldest
            FROM alert_sessions WHERE status = 'pending' AND deleted_at IS NULL
        )
        SELECT pending.waiting, pending.oldest, alerts.*, chats.waiting AS chat_waiting, chats.oldest AS chat_oldest,
               chats.running AS chat_running, chats.left_behind AS chat_left_behind, chats.unreadable AS chat_unreadable
        FROM alerts, chats, pending
        """,
        newest,
    )
    assert row is not None  # noqa: S101 -- aggregates always have a row
    parts = ("waiting", "oldest", "running", "left_behind", "unreadable")
    return QueueReading(
        alerts=Line(**{part: row[part] for part in parts}),
        chats=Line(**{part: row[f"chat_{part}"] for part in parts}),
        replicas=replicas,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseReading:
    """Who runs a session, or ran it until lately."""

    kind: RunKind
    owner: str | None
    """None of a question that nobody has begun to answer."""
    pod_id: str | None
    epoch: int
    attempts: int
    claimed_at: datetime
    renewed_at: datetime
    silence: timedelta
    """Since the last renewal."""
    expires_at: datetime
    is_expired: bool
    was_released: bool
    """Given up in order that others go on, and not lost."""
    journal_format: int


_LEASES = """
        SELECT session_id, run_kind AS kind, owner, regexp_replace(owner, ':[^:]*$', '') AS pod_id, epoch, attempts,
               claimed_at, greatest(renewed_at, claimed_at) AS renewed_at, expires_at, released AS was_released,
               clock_timestamp() - greatest(renewed_at, claimed_at) AS silence, journal_format,
               expires_at <= clock_timestamp() AS is_expired
        FROM session_leases WHERE expires_at IS NOT NULL
"""


async def read_lease(tx: Tx, session_id: UUID) -> LeaseReading | None:
    """None while nobody runs the session and no question about it is open."""
    row = await tx.fetchrow(f"{_LEASES} AND session_id = $1", session_id)
    return None if row is None else _lease(row)


async def list_leases(tx: Tx) -> dict[UUID, LeaseReading]:
    """Of investigations, by session."""
    rows = await tx.fetch(f"{_LEASES} AND run_kind = 'alert'")
    return {row["session_id"]: _lease(row) for row in rows}


def _lease(row: Row) -> LeaseReading:
    fields: dict[str, Any] = {**row, "kind": RunKind(row["kind"])}
    del fields["session_id"]
    return LeaseReading(**fields)


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    number: int
    journal_format: int
    """Of the one that waits."""


async def count_pending_before(tx: Tx, session_id: UUID) -> Before:
    row = await tx.fetchrow(
        """
        SELECT l.journal_format, (
            SELECT count(*) FROM alert_sessions
            WHERE status = 'pending' AND deleted_at IS NULL AND created_at < s.created_at
        ) AS number
        FROM alert_sessions s JOIN session_leases l USING (session_id) WHERE session_id = $1
        """,
        session_id,
    )
    return Before(number=0, journal_format=0) if row is None else Before(**row)


async def count_before(tx: Tx, session_id: UUID) -> int:
    """Leases of the same kind that anybody may take, and that are taken before this one."""
    return await tx.fetchval(
        """
        SELECT count(*) FROM session_leases l, session_leases own
        WHERE own.session_id = $1 AND l.run_kind = own.run_kind AND l.expires_at < own.expires_at
        """,
        session_id,
    )
