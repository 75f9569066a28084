"""What it costs to keep a ledger of what leaves for models: its CPU beside that of the turn, and bytes an iteration.

The difference of two turns would drown in the moods of the machine, so what the ledger does is measured by itself,
while sessions run: gathering what was sent, and writing it down for the database.
"""

import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from unittest.mock import patch
from uuid import UUID

from benchmarks.loop import LONG, SHORT, USUAL, measure_session
from benchmarks.replica import Replica, open_replica
from benchmarks.report import Check
from benchmarks.workload import Workload
from midwatch.kit import json
from midwatch.store.driver import Tx
from midwatch.store.journal import Batch, OutboundRequest
from midwatch.timeline.ledger import Ledger

_MOST_TIMES_WITHOUT = 1.05
_MOST_GROWTH = 1.3


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerFigures:
    ratios: dict[int, float]
    """By the number of iterations: CPU of one with the ledger, against one without."""
    stored: dict[int, float]
    """Bytes an iteration, by the number of iterations: row, index and all."""
    sent: dict[int, float]
    """Bytes that left, an iteration."""

    @property
    def checks(self) -> list[Check]:
        return [
            *(
                Check(
                    what=f"ledger, {size} iterations: CPU of one with it, against without",
                    measured=self.ratios[size],
                    target=_MOST_TIMES_WITHOUT,
                )
                for size in (USUAL, LONG)
            ),
            Check(
                what=f"ledger: storage of an iteration at {LONG}, against {USUAL}",
                measured=self.stored[LONG] / self.stored[USUAL],
                target=_MOST_GROWTH,
            ),
        ]

    @property
    def notes(self) -> list[str]:
        return [
            f"ledger, one of {size} iterations: {self.stored[size]:.0f} B stored for {self.sent[size]:.0f} B sent"
            for size in (SHORT, USUAL, LONG)
        ]


async def measure_ledger(config_folder: Path, dsn: str, *, rounds: int) -> LedgerFigures:
    async with open_replica(config_folder, dsn) as replica:
        await _measure_ratio(replica, SHORT)  # imports, connections and prepared statements
        ratios = {size: median([await _measure_ratio(replica, size) for _ in range(rounds)]) for size in (USUAL, LONG)}
        async with replica.service.store.connect() as tx:
            stored, sent = await _measure_bytes(tx)
    return LedgerFigures(ratios=ratios, stored=stored, sent=sent)


async def _measure_ratio(replica: Replica, size: int) -> float:
    play = partial(_play, replica)
    empty = (await measure_session(play, Workload(iterations=0))).cpu
    with _watching() as spent:
        whole = (await measure_session(play, Workload(iterations=size))).cpu
    # What was written down was written once more, to see how long that takes.
    turns = whole - empty - spent.writing
    return turns / (turns - spent.gathering - spent.writing)


async def _play(replica: Replica, workload: Workload) -> int:
    return await replica.count_calls(await replica.run_session(workload))


@dataclass(slots=True)
class _Spent:
    """Seconds of CPU."""

    gathering: float = 0.0
    writing: float = 0.0


@contextmanager
def _watching() -> Generator[_Spent]:
    spent, take = _Spent(), Ledger.take

    def take_watched(ledger: Ledger, interaction_id: UUID | None) -> list[OutboundRequest]:
        began = time.thread_time()
        rows = take(ledger, interaction_id)
        gathered = time.thread_time()
        json.encode_text(Batch(outbound=rows))
        spent.gathering += gathered - began
        spent.writing += time.thread_time() - gathered
        return rows

    with patch.object(Ledger, "take", take_watched):
        yield spent


async def _measure_bytes(tx: Tx) -> tuple[dict[int, float], dict[int, float]]:
    """The index and what else a row takes beyond its columns is shared out evenly."""
    beyond: float = await tx.fetchval(
        "SELECT (pg_total_relation_size('outbound_requests') - sum(pg_column_size(o.*)))::float / count(*) "
        "FROM outbound_requests o"
    )
    rows = await tx.fetch(
        "SELECT model, avg(pg_column_size(o.*))::float AS stored, avg(size)::float AS sent FROM outbound_requests o "
        "GROUP BY model"
    )
    by_model = {row["model"]: row for row in rows}
    taken = {size: by_model[Workload(iterations=size).name] for size in (SHORT, USUAL, LONG)}
    return (
        {size: row["stored"] + beyond for size, row in taken.items()},
        {size: row["sent"] for size, row in taken.items()},
    )
