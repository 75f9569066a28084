"""The loop against the floor: CPU of this process per iteration, in rounds that alternate between the two.

A session of N iterations minus one of none, divided by N: what starts and ends a session, tool server included, is
left out on both sides in the same way. The replica idles while the floor is measured, which costs a thousandth.
"""

import gc
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import httpx

from benchmarks.floor import run_bare_loop
from benchmarks.replica import open_replica
from benchmarks.report import Check
from benchmarks.workload import Workload

SHORT, USUAL, LONG = 10, 50, 200
SIZES = (SHORT, USUAL, LONG)
_ROUND = (0, SHORT, SHORT, USUAL, 0, SHORT, SHORT, LONG) * 2
"""The sessions of one round by size: many short ones, since each alone says little."""
_NOTHING = 0.05
"""Less than this part of the floor is noise, and nothing to compare growth with."""

_MOST_TIMES_FLOOR = 3.0
_MOST_GROWTH = 1.3

Play = Callable[[Workload], Awaitable[int]]


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds."""

    cpu: float
    wall: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopFigures:
    """By number of iterations, the cost of one."""

    floor: dict[int, Cost]
    ours: dict[int, Cost]

    @property
    def checks(self) -> list[Check]:
        return [
            *(
                Check(
                    what=f"loop of {size} iterations: CPU of one, against the floor",
                    measured=self.ours[size].cpu / self.floor[size].cpu,
                    target=_MOST_TIMES_FLOOR,
                )
                for size in SIZES
            ),
            Check(
                what=f"loop: CPU beyond the floor at {LONG} iterations, against {SHORT}",
                measured=self._beyond(LONG) / max(self._beyond(SHORT), _NOTHING * self.floor[SHORT].cpu),
                target=_MOST_GROWTH,
            ),
        ]

    @property
    def notes(self) -> list[str]:
        notes = [
            f"{name}, one of {size} iterations: {cost.cpu * 1000:.2f} ms CPU, {cost.wall * 1000:.2f} ms wall"
            for size in SIZES
            for name, cost in (("floor", self.floor[size]), ("ours", self.ours[size]))
        ]
        if self._beyond(SHORT) < _NOTHING * self.floor[SHORT].cpu:
            notes.append(f"beyond the floor is almost nothing at {SHORT} iterations: {_NOTHING:.0%} of it stand in")
        return notes

    def _beyond(self, size: int) -> float:
        return self.ours[size].cpu - self.floor[size].cpu


def list_workloads() -> list[Workload]:
    return [Workload(iterations=size) for size in (0, *SIZES)]


async def measure_loop(config_folder: Path, dsn: str, *, base_url: str, rounds: int) -> LoopFigures:
    floor: list[dict[int, Cost]] = []
    ours: list[dict[int, Cost]] = []
    async with httpx.AsyncClient() as http, open_replica(config_folder, dsn) as replica:

        async def play_floor(workload: Workload) -> int:
            return await run_bare_loop(workload, base_url=base_url, http=http)

        async def play_ours(workload: Workload) -> int:
            return await replica.count_calls(await replica.run_session(workload))

        await measure_round(play_floor, play_ours)  # imports, connections and prepared statements
        for _ in range(rounds):
            floor_costs, our_costs = await measure_round(play_floor, play_ours)
            floor.append(floor_costs)
            ours.append(our_costs)
    return LoopFigures(floor=_take_medians(floor), ours=_take_medians(ours))


async def measure_round(*sides: Play) -> list[dict[int, Cost]]:
    """The sides take turns session by session, so that both meet the same moods of the machine."""
    costs: list[dict[int, list[Cost]]] = [defaultdict(list) for _ in sides]
    for size in _ROUND:
        for side, play in enumerate(sides):
            costs[side][size].append(await measure_session(play, Workload(iterations=size)))
    return [_divide({size: _middle(samples) for size, samples in by_size.items()}) for by_size in costs]


def _divide(costs: dict[int, Cost]) -> dict[int, Cost]:
    empty = costs[0]
    return {size: Cost((costs[size].cpu - empty.cpu) / size, (costs[size].wall - empty.wall) / size) for size in SIZES}


async def measure_session(play: Play, workload: Workload) -> Cost:
    gc.collect()
    cpu, wall = time.process_time(), time.perf_counter()
    called = await play(workload)
    cost = Cost(time.process_time() - cpu, time.perf_counter() - wall)
    if called != workload.iterations * workload.stages:
        raise RuntimeError(f"{called} tools were called instead of {workload.iterations * workload.stages}")
    return cost


def _take_medians(rounds: Sequence[dict[int, Cost]]) -> dict[int, Cost]:
    return {size: _middle([costs[size] for costs in rounds]) for size in SIZES}


def _middle(costs: Sequence[Cost]) -> Cost:
    return Cost(median(cost.cpu for cost in costs), median(cost.wall for cost in costs))
