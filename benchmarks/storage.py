"""How much the database grows with an iteration, beyond the texts themselves. The ledger is measured apart."""

from dataclasses import dataclass
from pathlib import Path

from benchmarks.replica import open_replica
from benchmarks.report import Check
from benchmarks.workload import Workload
from midwatch.store import driver

_ITERATIONS = 200
_SESSIONS = 3
"""Relations grow by pages: one session alone would measure their rounding too."""
_MOST_BYTES = 4000

PLAIN = Workload(iterations=_ITERATIONS)
THINKING = Workload(iterations=_ITERATIONS, thinking=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageFigures:
    plain: float
    thinking: float

    @property
    def checks(self) -> list[Check]:
        return [
            Check(what="storage of an iteration beyond its texts", measured=self.plain, target=_MOST_BYTES, unit="B"),
            Check(what="the same with thinking", measured=self.thinking, target=_MOST_BYTES, unit="B"),
        ]


async def measure_storage(config_folder: Path, dsn: str) -> StorageFigures:
    # Warms up: lets every relation grow past its first pages.
    await _measure_growth(config_folder, dsn, workload=THINKING)
    return StorageFigures(
        plain=await _measure_growth(config_folder, dsn, workload=PLAIN),
        thinking=await _measure_growth(config_folder, dsn, workload=THINKING),
    )


async def _measure_growth(config_folder: Path, dsn: str, *, workload: Workload) -> float:
    """Bytes an iteration. The replica is closed when sizes are taken, so that VACUUM finds nothing in use."""
    # Packed first: space that earlier sessions left free would hide a part of the growth. The second VACUUM brings
    # back the maps of free space, which the first throws away.
    before = await _measure_database(dsn, "VACUUM FULL", "VACUUM")
    async with open_replica(config_folder, dsn) as replica:
        for _ in range(_SESSIONS):
            await replica.run_session(workload)
    after = await _measure_database(dsn, "VACUUM")
    grown = (after.relations - before.relations) - (after.texts - before.texts)
    return grown / (_SESSIONS * workload.iterations)


@dataclass(frozen=True, slots=True)
class _Size:
    relations: int
    texts: int
    """Each text counted once."""


async def _measure_database(dsn: str, *cleaning: str) -> _Size:
    connection = await driver.connect(dsn)
    try:
        for statement in cleaning:
            await connection.execute(statement)
        relations = await connection.fetchval(
            """
            SELECT sum(pg_total_relation_size(c.oid))::bigint FROM pg_class c
            WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND c.relname <> 'outbound_requests'
            """
        )
        texts = await connection.fetchval("SELECT coalesce(sum(octet_length(content)), 0)::bigint FROM texts")
        return _Size(relations, texts)
    finally:
        await connection.close()
