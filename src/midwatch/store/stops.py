"""The emergency stop: while one is declared, no change is started. Only a person declares it, and only one lifts it.

A start and a declaration never pass each other: either the start sees the stop, or the stop sees the call.
"""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from midwatch.kit import json
from midwatch.kit.ids import new_id
from midwatch.store.cancels import add_cancel_request
from midwatch.store.driver import Row, Tx

_LOCK = 0x6D696477_73746F70  # "midwstop"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    stop_id: UUID
    reason: str
    declared_by: str | None
    declared_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    stop: Stop
    is_new: bool
    calls: tuple[tuple[UUID, UUID], ...] = ()
    """Changes that are on their way, each with its session: somebody is asked to end them."""


async def let_starts_pass(tx: Tx) -> None:
    """Shared by all who start a change. Must be a statement of its own, before the stop is looked for."""
    await tx.execute(f"SELECT pg_advisory_xact_lock_shared({_LOCK})")


async def is_stopped(tx: Tx) -> bool:
    return await tx.fetchval("SELECT EXISTS (SELECT FROM emergency_stops WHERE lifted_at IS NULL)")


async def read_stop(tx: Tx) -> Stop | None:
    """The one that holds."""
    row = await tx.fetchrow(
        "SELECT stop_id, reason, declared_by, declared_at FROM emergency_stops WHERE lifted_at IS NULL "
        "ORDER BY declared_at LIMIT 1"
    )
    return _stop(row)


async def declare_stop(tx: Tx, *, reason: str, by: str) -> Declared:
    """Nothing new when one holds already. What is on its way is to be cancelled, each time anew.

    Run in a transaction: it waits for starts that are under way, and those that come later see it.
    """
    await tx.execute(f"SELECT pg_advisory_xact_lock({_LOCK})")
    standing = await read_stop(tx)
    stop = standing or await _insert(tx, reason=reason, by=by)
    calls = await tx.fetch(
        """
        SELECT DISTINCT c.session_id, c.call_id FROM open_changes o JOIN tool_calls c USING (call_id)
        WHERE c.state = 'started' ORDER BY c.call_id
        """
    )
    for row in calls:
        await add_cancel_request(tx, row["session_id"], row["call_id"])
    return Declared(stop=stop, is_new=standing is None, calls=tuple((row[0], row[1]) for row in calls))


async def lift_stop(tx: Tx, *, reason: str, by: str) -> Stop | None:
    """The one that held; None when there was none."""
    await tx.execute(f"SELECT pg_advisory_xact_lock({_LOCK})")
    row = await tx.fetchrow(
        """
        UPDATE emergency_stops SET lifted_at = clock_timestamp(), lifted_by = $1, lift_reason = nullif($2, '')
        WHERE lifted_at IS NULL RETURNING stop_id, reason, declared_by, declared_at
        """,
        json.clean_text(by),
        json.clean_text(reason),
    )
    return _stop(row)


async def _insert(tx: Tx, *, reason: str, by: str) -> Stop:
    row = await tx.fetchrow(
        """
        INSERT INTO emergency_stops (stop_id, reason, declared_by) VALUES ($1, $2, $3)
        RETURNING stop_id, reason, declared_by, declared_at
        """,
        new_id(),
        json.clean_text(reason),
        json.clean_text(by),
    )
    stop = _stop(row)
    assert stop is not None  # noqa: S101 -- it was inserted just now
    return stop


def _stop(row: Row | None) -> Stop | None:
    return None if row is None else Stop(**dict(row))
