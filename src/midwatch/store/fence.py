"""The fence: the last statement of every transaction of a run, which only the owner of the lease gets past.

Its row lock makes the order of commits equal the order of sequence numbers, so "everything after N" never skips an
event that commits late.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from midwatch.domain.errors import LeaseLost
from midwatch.domain.timeline import EventType
from midwatch.kit import json
from midwatch.store.driver import Tx


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    session_id: UUID
    epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something subscribers are told. `ref` names a timeline event, which is joined when the event is read."""

    type: EventType
    ref: UUID | None = None
    payload: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """The end of a transaction: the feed's new sequence number, and what was told up to there."""

    seq: int
    events: Sequence[Event]


async def pass_fence(tx: Tx, fence: Fence, events: Sequence[Event]) -> int:
    """Appends the events under the lease and returns the feed's new sequence number. Raises LeaseLost."""
    seq = await tx.fetchval(
        """
        WITH fence AS (
            UPDATE session_feeds SET seq = seq + $3 WHERE session_id = $1 AND epoch = $2 RETURNING seq
        ), told AS (
            INSERT INTO events (session_id, seq, type, ref, payload)
            SELECT $1, fence.seq - $3 + e.n, e.type, e.ref, e.payload
            FROM fence, ROWS FROM (jsonb_to_recordset($4::jsonb) AS (type event_word, ref uuid, payload jsonb))
                WITH ORDINALITY AS e(type, ref, payload, n)
        )
        SELECT seq FROM fence
        """,
        fence.session_id,
        fence.epoch,
        len(events),
        json.encode_text(events),
    )
    if seq is None:
        raise LeaseLost(f"session {fence.session_id} is no longer held under epoch {fence.epoch}")
    return seq


async def tell(tx: Tx, session_id: UUID, events: Sequence[Event]) -> int:
    """Appends events on behalf of someone outside the run, such as a person who cancels it."""
    return await tx.fetchval(
        """
        WITH feed AS (UPDATE session_feeds SET seq = seq + $2 WHERE session_id = $1 RETURNING seq), told AS (
            INSERT INTO events (session_id, seq, type, ref, payload)
            SELECT $1, feed.seq - $2 + e.n, e.type, e.ref, e.payload
            FROM feed, ROWS FROM (jsonb_to_recordset($3::jsonb) AS (type event_word, ref uuid, payload jsonb))
                WITH ORDINALITY AS e(type, ref, payload, n)
        )
        SELECT seq FROM feed
        """,
        session_id,
        len(events),
        json.encode_text(events),
    )
