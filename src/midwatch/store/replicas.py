"""Who is there: each replica reports itself, and its word holds for a while. All times are the database's own."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from midwatch.store.driver import Tx


@dataclass(frozen=True, slots=True, kw_only=True)
class Presence:
    """What a replica says of itself."""

    owner: str
    """As in the leases it holds: new at every start of the process."""
    pod_id: str
    version: str
    journal_format: int
    """The newest it can read."""
    slots: int
    chat_slots: int
    is_draining: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveReplica(Presence):
    busy_slots: int
    busy_chat_slots: int
    started_at: datetime
    seen_at: datetime


async def report_presence(tx: Tx, presence: Presence, *, lasts: timedelta) -> None:
    """Those who have been silent for long are forgotten on the way."""
    await tx.execute(
        """
        WITH gone AS (DELETE FROM replicas WHERE expires_at < clock_timestamp() - '1 hour'::interval AND owner <> $1)
        INSERT INTO replicas (owner, pod_id, version, journal_format, slots, chat_slots, is_draining, expires_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, clock_timestamp() + $8)
        ON CONFLICT (owner) DO UPDATE SET
            slots = excluded.slots, chat_slots = excluded.chat_slots, is_draining = excluded.is_draining,
            seen_at = clock_timestamp(), expires_at = excluded.expires_at
        """,
        presence.owner,
        presence.pod_id,
        presence.version,
        presence.journal_format,
        presence.slots,
        presence.chat_slots,
        presence.is_draining,
        lasts,
    )


async def withdraw_presence(tx: Tx, owner: str) -> None:
    await tx.execute("DELETE FROM replicas WHERE owner = $1", owner)


async def list_replicas(tx: Tx) -> tuple[LiveReplica, ...]:
    """Those whose word still holds, oldest first."""
    rows = await tx.fetch(
        """
        SELECT r.owner, r.pod_id, r.version, r.journal_format, r.slots, r.chat_slots, r.is_draining, r.started_at,
               r.seen_at, count(l.*) FILTER (WHERE l.run_kind = 'alert') AS busy_slots,
               count(l.*) FILTER (WHERE l.run_kind = 'chat') AS busy_chat_slots
        FROM replicas r
        LEFT JOIN session_leases l ON l.owner = r.owner AND l.expires_at > clock_timestamp()
        WHERE r.expires_at > clock_timestamp()
        GROUP BY r.owner ORDER BY r.started_at, r.owner
        """
    )
    return tuple(LiveReplica(**dict(row)) for row in rows)
