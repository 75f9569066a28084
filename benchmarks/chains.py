"""What a stage costs by itself: CPU of one more stage in a chain, against that of an iteration of the loop.

A chain of four stages whose agents conclude at once, minus one of a single stage, divided by three: opening the tools,
one question to the model, and all that is stored and told about a stage and its agent.
"""

from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.loop import SHORT, Cost, measure_session
from benchmarks.replica import Replica, open_replica
from benchmarks.report import Check
from benchmarks.workload import Workload

_STAGES = 4
_REPEATS = 4
_MOST_ITERATIONS = 8.0

_ONE = Workload(iterations=0)
_CHAIN = Workload(iterations=0, stages=_STAGES)
_LOOP = Workload(iterations=SHORT)
CHAINS = [_CHAIN]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainFigures:
    stage: Cost
    iteration: Cost

    @property
    def checks(self) -> list[Check]:
        return [
            Check(
                what=f"chain of {_STAGES} stages: CPU of one, in iterations of the loop",
                measured=self.stage.cpu / self.iteration.cpu,
                target=_MOST_ITERATIONS,
            )
        ]

    @property
    def notes(self) -> list[str]:
        return [f"a stage of its own: {self.stage.cpu * 1000:.2f} ms CPU, {self.stage.wall * 1000:.2f} ms wall"]


async def measure_chains(config_folder: Path, dsn: str, *, rounds: int) -> ChainFigures:
    async with open_replica(config_folder, dsn) as replica:
        await _measure_round(replica)  # imports, connections and prepared statements
        costs = [await _measure_round(replica) for _ in range(rounds * _REPEATS)]
    one, chain, loop = (_middle([each[place] for each in costs]) for place in range(3))
    return ChainFigures(stage=_share(chain, one, _STAGES - 1), iteration=_share(loop, one, SHORT))


async def _measure_round(replica: Replica) -> list[Cost]:
    """In turn, so that all meet the same moods of the machine."""

    async def play(workload: Workload) -> int:
        return await replica.count_calls(await replica.run_session(workload))

    return [await measure_session(play, workload) for workload in (_ONE, _CHAIN, _LOOP)]


def _middle(costs: list[Cost]) -> Cost:
    return Cost(median(cost.cpu for cost in costs), median(cost.wall for cost in costs))


def _share(more: Cost, less: Cost, parts: int) -> Cost:
    return Cost((more.cpu - less.cpu) / parts, (more.wall - less.wall) / parts)
