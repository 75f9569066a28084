"""Places where a replica can be caught: the database holds a statement there for as long as the test wants.

Triggers in the test's own database wait for an advisory lock. Nobody waits while the test does not hold it, and a
replica that was frozen at such a place meets a statement that completes without it.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import IntEnum

from midwatch.store.driver import Connection, Tx
from midwatch.store.engine import Store
from tests.waiting import eventually

_SPACE = 77_001


class FaultPoint(IntEnum):
    CLAIM = 1
    """In the middle of a claim, with the lock that all claims need."""
    STAGE = 2
    """In the transaction that begins a stage, before the fence."""
    STARTING = 3
    """In the transaction that starts a write, before the fence."""
    FENCE = 4
    """On the fence, in whatever transaction comes there next."""
    STARTED = 5
    """In the COMMIT that starts a write: it goes through, but its sender does not learn of it."""


_TRIGGERS = {
    FaultPoint.CLAIM: (
        "TRIGGER {name} BEFORE UPDATE ON session_leases FOR EACH ROW WHEN (new.epoch <> old.epoch) {action}"
    ),
    FaultPoint.STAGE: "TRIGGER {name} BEFORE INSERT ON stages FOR EACH ROW {action}",
    FaultPoint.STARTING: (
        "TRIGGER {name} BEFORE UPDATE ON tool_calls FOR EACH ROW WHEN (new.state = 'started') {action}"
    ),
    FaultPoint.FENCE: "TRIGGER {name} BEFORE UPDATE ON session_feeds FOR EACH ROW {action}",
    FaultPoint.STARTED: (
        "CONSTRAINT TRIGGER {name} AFTER UPDATE ON tool_calls DEFERRABLE INITIALLY DEFERRED FOR EACH ROW "
        "WHEN (new.state = 'started') {action}"
    ),
}


async def install_fault_points(tx: Tx) -> None:
    await tx.execute(
        f"""
        CREATE FUNCTION wait_at_fault_point() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            PERFORM pg_advisory_xact_lock_shared({_SPACE}, tg_argv[0]::int);
            RETURN new;
        END $$
        """
    )
    for point, trigger in _TRIGGERS.items():
        action = f"EXECUTE FUNCTION wait_at_fault_point({point.value})"
        await tx.execute("CREATE " + trigger.format(name=f"fault_{point.name.lower()}", action=action))


@dataclass(frozen=True, slots=True)
class HeldPoint:
    point: FaultPoint
    _connection: Connection

    async def reached(self) -> None:
        await eventually(self._count_waiting)

    async def _count_waiting(self) -> int:
        return await self._connection.fetchval(
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND classid = $1 AND objid = $2 "
            "AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND NOT granted",
            _SPACE,
            self.point,
        )


@asynccontextmanager
async def holding(store: Store, point: FaultPoint) -> AsyncGenerator[HeldPoint]:
    """Whoever comes to the point within this block waits there until the block is left."""
    connection = await store.dedicated()
    try:
        await connection.execute(f"SELECT pg_advisory_lock({_SPACE}, {point.value})")
        yield HeldPoint(point, connection)
    finally:
        await connection.close()
