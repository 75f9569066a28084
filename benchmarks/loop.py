"""The loop against the floor: CPU of this process per iteration, in rounds that alternate between the two.

A session of N iterations minus one of none, divided by N: what starts and ends a session, tool server included, is
left out on both sides in the same way.
"""

import gc
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import httpx

from benchmarks.floor import run_bare_loop
from benchmarks.replica import Replica, open_replica
from benchmarks.report import Check
from benchmarks.workload import Workload

SHORT, USUAL, LONG = 10, 50, 200
SIZES = (SHORT, USUAL, LONG)
_SESSIONS = {0: 5, SHORT: 5, USUAL: 2, LONG: 1}
"""How many sessions of each size a round has: short ones are noisy alone."""
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
            f"{name} at {size} iterations: {cost[size].cpu * 1000:.2f} ms CPU, {cost[size].wall * 1000:.2f} ms wall each"
            for size in SIZES
            for name, cost in (("floor", self.floor), ("ours", self.ours))
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
    async with httpx.AsyncClient() as http:

        async def play_floor(workload: Workload) -> int:
            return await run_bare_loop(workload, base_url=base_url, http=http)

        for _ in range(rounds):
            floor.append(await _measure_round(play_floor))
            # Opened for its round alone: while the floor is measured nothing else runs in this process.
            async with open_replica(config_folder, dsn) as replica:
                ours.append(await _measure_round(_playing(replica)))
    return LoopFigures(floor=_take_medians(floor), ours=_take_medians(ours))


def _playing(replica: Replica) -> Play:
    async def play(workload: Workload) -> int:
        return await replica.count_calls(await replica.run_session(workload))

    return play


async def _measure_round(play: Play) -> dict[int, Cost]:
    await play(Workload(iterations=SHORT))  # connections and prepared statements
    costs = {size: _middle([await _measure(play, size) for _ in range(_SESSIONS[size])]) for size in (0, *SIZES)}
    return {
        size: Cost((costs[size].cpu - costs[0].cpu) / size, (costs[size].wall - costs[0].wall) / size) for size in SIZES
    }


async def _measure(play: Play, size: int) -> Cost:
    gc.collect()
    cpu, wall = time.process_time(), time.perf_counter()
    called = await play(Workload(iterations=size))
    cost = Cost(time.process_time() - cpu, time.perf_counter() - wall)
    if called != size:
        raise RuntimeError(f"{called} tools were called instead of {size}")
    return cost


def _take_medians(rounds: Sequence[dict[int, Cost]]) -> dict[int, Cost]:
    return {size: _middle([costs[size] for costs in rounds]) for size in SIZES}


def _middle(costs: Sequence[Cost]) -> Cost:
    return Cost(median(cost.cpu for cost in costs), median(cost.wall for cost in costs))
