"""What it costs to keep a ledger of what leaves for models: CPU with it against CPU without, and bytes an iteration.

Sessions with and without it take turns in one replica. Without, nobody is told what was sent; all else is the same.
"""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from benchmarks.loop import LONG, SHORT, SIZES, USUAL, Cost, measure_round
from benchmarks.replica import open_replica
from benchmarks.report import Check
from benchmarks.workload import Workload
from midwatch.store.driver import Tx
from midwatch.timeline.ledger import SentRequest
from midwatch.timeline.record import ExecutionRecorder

_MOST_TIMES_WITHOUT = 1.05
_MOST_GROWTH = 1.3


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerFigures:
    without: dict[int, Cost]
    kept: dict[int, Cost]
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
                    measured=self.kept[size].cpu / self.without[size].cpu,
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
    with_it: list[dict[int, Cost]] = []
    without: list[dict[int, Cost]] = []
    async with open_replica(config_folder, dsn) as replica:

        async def play(workload: Workload) -> int:
            return await replica.count_calls(await replica.run_session(workload))

        async def play_without(workload: Workload) -> int:
            with _telling_nobody():
                return await play(workload)

        await measure_round(play_without, play)  # imports, connections and prepared statements
        for _ in range(rounds):
            bare, kept = await measure_round(play_without, play)
            without.append(bare)
            with_it.append(kept)
        async with replica.service.store.connect() as tx:
            stored, sent = await _measure_bytes(tx)
    return LedgerFigures(without=_take_least(without), kept=_take_least(with_it), stored=stored, sent=sent)


def _take_least(rounds: Sequence[dict[int, Cost]]) -> dict[int, Cost]:
    """Of the same work, whatever is more than the least is the machine's mood, which is worth more than a twentieth."""
    return {size: min((costs[size] for costs in rounds), key=lambda cost: cost.cpu) for size in SIZES}


@contextmanager
def _telling_nobody() -> Generator[None]:
    with patch.object(ExecutionRecorder, "note_sent", _forget):
        yield


def _forget(_: ExecutionRecorder, __: SentRequest) -> None:
    pass


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
