"""Who runs which session: claim, heartbeat, release. All times are the database's own."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from midwatch.domain.session import RunKind, SessionStatus
from midwatch.store.driver import Row, Tx
from midwatch.store.fence import Fence

_CLAIM_LOCK = 0x6D696477_636C6169  # "midwclai"

JOURNAL_FORMAT = 1
"""Of everything that a run reads back: the chain, messages, calls. Raise it when a replica of the last release could
not go on with what this one writes; then it leaves alone what this one has had in hand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    fence: Fence
    status: SessionStatus
    taken_over: bool
    """The former owner went away without releasing the session."""
    resumed: bool
    """The session had been running before, whoever ran it."""
    attempts: int
    """Take-overs in a row without a committed turn between them."""
    ran: timedelta
    """How long the session has been running in all, before this claim."""
    feed_seq: int
    chat_stage_id: UUID | None = None
    """The stage of the question that is to be answered, when the run is a chat."""
    cancelled: frozenset[UUID] = frozenset()
    """Executions, calls and the chat's stage that a person wanted to end before this claim."""
    alert_type: str = ""
    waited: timedelta | None = None
    """How long the session was pending; None when it had been begun before."""

    @property
    def is_cancelled(self) -> bool:
        return self.status is SessionStatus.CANCELLING or self.chat_stage_id in self.cancelled


async def lock_claims(tx: Tx) -> None:
    """Must be a statement of its own: lock and count in one would count on an older snapshot."""
    await tx.execute(f"SELECT pg_advisory_xact_lock({_CLAIM_LOCK})")


_TAKE_EXPIRED = """
        WITH expired AS (
            SELECT session_id, owner, released, expires_at, claimed_at, attempts
            FROM session_leases
            WHERE run_kind = $1 AND expires_at <= clock_timestamp() AND journal_format <= $5
            ORDER BY expires_at LIMIT 1 FOR UPDATE SKIP LOCKED
        ), lease AS (
            UPDATE session_leases l SET
                owner = $2, epoch = l.epoch + 1, released = false,
                claimed_at = clock_timestamp(), expires_at = clock_timestamp() + $4, renewed_at = NULL,
                journal_format = $5,
                ran_ms = l.ran_ms + (extract(epoch FROM greatest(
                    CASE WHEN e.released THEN e.expires_at ELSE e.expires_at - $4 END - e.claimed_at,
                    '0'::interval)) * 1000)::bigint,
                attempts = CASE WHEN f.progressed THEN 0 ELSE e.attempts END + CASE WHEN e.released THEN 0 ELSE 1 END
            FROM expired e JOIN session_feeds f USING (session_id)
            WHERE l.session_id = e.session_id
            RETURNING l.session_id, l.epoch, l.attempts, l.ran_ms, NOT e.released AS taken_over,
                      e.owner IS NOT NULL AS resumed,
                      ARRAY(SELECT target_id FROM cancel_requests c WHERE c.session_id = l.session_id) AS cancelled
        )
"""


async def take_over(
    tx: Tx, *, owner: str, pod_id: str, lease: timedelta, journal_format: int = JOURNAL_FORMAT
) -> Claim | None:
    """Takes the longest-expired lease, whatever the cap: a crash at full load must not lock recovery out."""
    row = await tx.fetchrow(
        f"""
        {_TAKE_EXPIRED}, session AS (
            UPDATE alert_sessions s SET pod_id = $3, last_interaction_at = clock_timestamp()
            FROM lease WHERE s.session_id = lease.session_id RETURNING s.status, s.alert_type
        ), feed AS (
            UPDATE session_feeds f SET epoch = lease.epoch, progressed = false
            FROM lease, session WHERE f.session_id = lease.session_id RETURNING f.seq
        )
        SELECT lease.*, session.status, session.alert_type, NULL::interval AS waited, feed.seq,
               NULL::uuid AS chat_stage_id
        FROM lease, session, feed
        """,  # noqa: S608 -- nothing but words of ours
        RunKind.ALERT,
        owner,
        pod_id,
        lease,
        journal_format,
    )
    return _claim(row)


async def claim_chat(
    tx: Tx, *, owner: str, pod_id: str, lease: timedelta, journal_format: int = JOURNAL_FORMAT
) -> Claim | None:
    """Takes the question that has waited longest, be it new or left behind. No cap counts them, so nothing is locked.

    Nothing is known of a run that never began: it has not been resumed, and its feed has not gone on.
    """
    row = await tx.fetchrow(
        f"""
        {_TAKE_EXPIRED}, chat AS (
            UPDATE chats c SET pod_id = $3, last_interaction_at = clock_timestamp()
            FROM lease WHERE c.session_id = lease.session_id RETURNING c.chat_id
        ), feed AS (
            UPDATE session_feeds f SET epoch = lease.epoch, progressed = false
            FROM lease, chat WHERE f.session_id = lease.session_id RETURNING f.seq
        )
        SELECT lease.*, s.status, s.alert_type, NULL::interval AS waited, feed.seq, st.stage_id AS chat_stage_id
        FROM lease
        JOIN alert_sessions s USING (session_id)
        JOIN stages st ON st.session_id = lease.session_id AND st.stage_type = 'chat'
            AND st.status IN ('pending', 'active'),
        feed
        """,  # noqa: S608 -- nothing but words of ours
        RunKind.CHAT,
        owner,
        pod_id,
        lease,
        journal_format,
    )
    return _claim(row)


async def claim_pending(
    tx: Tx, *, owner: str, pod_id: str, lease: timedelta, cap: int, journal_format: int = JOURNAL_FORMAT
) -> Claim | None:
    """Takes the oldest pending session, unless as many sessions run as are allowed to."""
    row = await tx.fetchrow(
        """
        WITH running AS (
            SELECT count(*) AS n FROM session_leases WHERE run_kind = 'alert' AND expires_at > clock_timestamp()
        ), next AS (
            SELECT s.session_id, s.started_at IS NOT NULL AS resumed
            FROM running, alert_sessions s JOIN session_leases l USING (session_id)
            WHERE s.status = 'pending' AND s.deleted_at IS NULL AND running.n < $4 AND l.journal_format <= $5
            ORDER BY s.created_at LIMIT 1 FOR UPDATE OF s SKIP LOCKED
        ), lease AS (
            UPDATE session_leases l SET
                owner = $1, epoch = l.epoch + 1, released = false, run_kind = 'alert',
                claimed_at = clock_timestamp(), expires_at = clock_timestamp() + $3, renewed_at = NULL,
                journal_format = $5
            FROM next WHERE l.session_id = next.session_id
            RETURNING l.session_id, l.epoch, l.attempts, l.ran_ms, false AS taken_over, next.resumed,
                      ARRAY(SELECT target_id FROM cancel_requests c WHERE c.session_id = l.session_id) AS cancelled
        ), session AS (
            UPDATE alert_sessions s SET
                status = 'in_progress', pod_id = $2, waiting_for = NULL, last_interaction_at = clock_timestamp(),
                started_at = coalesce(s.started_at, clock_timestamp())
            FROM lease WHERE s.session_id = lease.session_id
            RETURNING s.status, s.alert_type, s.started_at - s.created_at AS waited
        ), feed AS (
            UPDATE session_feeds f SET epoch = lease.epoch, seq = f.seq + 1
            FROM lease, session WHERE f.session_id = lease.session_id RETURNING f.seq
        ), told AS (
            INSERT INTO events (session_id, seq, type, payload)
            SELECT lease.session_id, feed.seq, 'session.status', '{"status": "in_progress"}' FROM lease, feed
        )
        SELECT lease.*, session.status, session.alert_type, feed.seq, NULL::uuid AS chat_stage_id,
               CASE WHEN NOT lease.resumed THEN session.waited END AS waited
        FROM lease, session, feed
        """,
        owner,
        pod_id,
        lease,
        cap,
        journal_format,
    )
    return _claim(row)


@dataclass(frozen=True, slots=True, kw_only=True)
class Renewal:
    status: SessionStatus
    cancelled: frozenset[UUID] = frozenset()
    """What of the run a person wants to end."""
    is_over: bool = False
    """There is nothing to renew: the owner itself has written the end."""


async def renew_lease(tx: Tx, fence: Fence, lease: timedelta) -> Renewal | None:
    """Extends the lease and brings back what people want of the session; None when the lease is no longer ours.

    One that is over stays over: a heartbeat that arrives after its sender has let go must not keep others waiting.
    """
    row = await tx.fetchrow(
        """
        UPDATE session_leases l SET expires_at = clock_timestamp() + $3, renewed_at = clock_timestamp()
        FROM alert_sessions s
        WHERE l.session_id = $1 AND l.epoch = $2 AND l.expires_at > clock_timestamp() AND s.session_id = l.session_id
        RETURNING s.status,
                  ARRAY(SELECT target_id FROM cancel_requests c WHERE c.session_id = l.session_id) AS cancelled
        """,
        fence.session_id,
        fence.epoch,
        lease,
    )
    if row is None:
        return None
    return Renewal(status=SessionStatus(row["status"]), cancelled=frozenset(row["cancelled"]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """A lease to be extended."""

    fence: Fence
    lease: timedelta


async def renew_leases(tx: Tx, due: Sequence[Due]) -> dict[UUID, Renewal]:
    """Those that are ours and that nobody has locked just now: one that is waited for would hold up all others."""
    rows = await tx.fetch(
        """
        WITH mine AS (
            SELECT l.session_id, due.lease FROM session_leases l
            JOIN unnest($1::uuid[], $2::bigint[], $3::interval[]) due (session_id, epoch, lease)
                ON l.session_id = due.session_id AND l.epoch = due.epoch
            WHERE l.expires_at > clock_timestamp() FOR NO KEY UPDATE OF l SKIP LOCKED
        )
        UPDATE session_leases l SET expires_at = clock_timestamp() + mine.lease, renewed_at = clock_timestamp()
        FROM mine JOIN alert_sessions s USING (session_id)
        WHERE l.session_id = mine.session_id
        RETURNING l.session_id, s.status,
                  ARRAY(SELECT target_id FROM cancel_requests c WHERE c.session_id = l.session_id) AS cancelled
        """,
        [each.fence.session_id for each in due],
        [each.fence.epoch for each in due],
        [each.lease for each in due],
    )
    return {
        row["session_id"]: Renewal(status=SessionStatus(row["status"]), cancelled=frozenset(row["cancelled"]))
        for row in rows
    }


async def read_ending(tx: Tx, fence: Fence) -> Renewal | None:
    """Whether the lease was given up for good under this epoch; None when it is somebody else's."""
    status = await tx.fetchval(
        """
        SELECT s.status FROM session_leases l JOIN alert_sessions s USING (session_id)
        WHERE l.session_id = $1 AND l.epoch = $2 AND l.expires_at IS NULL
        """,
        fence.session_id,
        fence.epoch,
    )
    return None if status is None else Renewal(status=SessionStatus(status), is_over=True)


async def release_lease(tx: Tx, fence: Fence, *, planned: bool) -> bool:
    """Lets another replica go on at once. Only an unplanned release counts as an attempt."""
    result = await tx.fetchval(
        """
        UPDATE session_leases SET expires_at = clock_timestamp(), released = $3
        WHERE session_id = $1 AND epoch = $2 AND expires_at IS NOT NULL RETURNING true
        """,
        fence.session_id,
        fence.epoch,
        planned,
    )
    return bool(result)


async def end_lease(tx: Tx, fence: Fence) -> bool:
    """Gives the lease up for good, as the first statement of the terminal transaction."""
    result = await tx.fetchval(
        """
        UPDATE session_leases SET
            owner = NULL, expires_at = NULL, released = false,
            ran_ms = ran_ms + (extract(epoch FROM clock_timestamp() - claimed_at) * 1000)::bigint
        WHERE session_id = $1 AND epoch = $2 AND expires_at IS NOT NULL RETURNING true
        """,
        fence.session_id,
        fence.epoch,
    )
    return bool(result)


def _claim(row: Row | None) -> Claim | None:
    if row is None:
        return None
    return Claim(
        fence=Fence(session_id=row["session_id"], epoch=row["epoch"]),
        status=SessionStatus(row["status"]),
        taken_over=row["taken_over"],
        resumed=row["resumed"],
        attempts=row["attempts"],
        ran=timedelta(milliseconds=row["ran_ms"]),
        feed_seq=row["seq"],
        chat_stage_id=row["chat_stage_id"],
        cancelled=frozenset(row["cancelled"]),
        alert_type=row["alert_type"],
        waited=row["waited"],
    )
