"""Many sessions at once on one replica, against one alone: time, CPU of an iteration, memory, and the longest callback.

The model streams each turn over some seconds, and all tools are one HTTP server that is shared, so that a replica
mostly waits. What it costs idle is measured first and left out.
"""

import asyncio
import gc
import json
import sys
import time
from asyncio.subprocess import PIPE
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import psutil

from benchmarks.callbacks import Longest, watch_callbacks
from benchmarks.replica import Replica, open_replica
from benchmarks.report import Check
from benchmarks.workload import SERVER
from midwatch.intake.submit_alert import Alert

_ROOT = Path(__file__).parents[1]
_MOST_TIMES_IDEAL = 1.3
_MOST_TIMES_ALONE = 1.3
_MOST_MEGABYTES = 3.0
_MOST_MILLISECONDS = 50.0
CHAIN = "crowd"
_LAST_TURNS = 2
"""The conclusion, and the summary of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Crowd:
    sessions: int = 100
    iterations: int = 10
    seconds: float = 2.0
    """That the model takes for a turn."""

    @property
    def ideal(self) -> float:
        return (self.iterations + _LAST_TURNS) * self.seconds


QUICK = Crowd(sessions=40, seconds=1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class CrowdCost:
    wall: float
    cpu: float
    """Of an iteration, in seconds."""
    memory: float
    """Megabytes of a session, at the highest."""
    longest: Longest


@dataclass(frozen=True, slots=True, kw_only=True)
class CrowdFigures:
    crowd: Crowd
    alone: CrowdCost
    together: CrowdCost

    @property
    def checks(self) -> list[Check]:
        many = f"{self.crowd.sessions} sessions at once"
        return [
            Check(
                what=f"{many}: time, against what the model takes",
                measured=self.together.wall / self.crowd.ideal,
                target=_MOST_TIMES_IDEAL,
            ),
            Check(
                what=f"{many}: CPU of an iteration, against one session alone",
                measured=self.together.cpu / self.alone.cpu,
                target=_MOST_TIMES_ALONE,
            ),
            Check(what=f"{many}: megabytes of each", measured=self.together.memory, target=_MOST_MEGABYTES),
            Check(
                what=f"{many}: longest callback, CPU",
                measured=self.together.longest.seconds * 1000,
                target=_MOST_MILLISECONDS,
                unit="ms",
            ),
        ]

    @property
    def notes(self) -> list[str]:
        alone, together = self.alone, self.together
        return [
            f"an iteration alone: {alone.cpu * 1000:.2f} ms CPU; in the crowd: {together.cpu * 1000:.2f} ms",
            f"{self.crowd.sessions} sessions: {together.wall:.1f} s, ideal {self.crowd.ideal:.1f} s",
            f"longest of {together.longest.calls} callbacks: {together.longest.what}",
        ]


async def measure_crowd(folder: Path, dsn: str, *, crowd: Crowd) -> CrowdFigures:
    folder = folder / CHAIN
    folder.mkdir()
    async with serve_paced(crowd.iterations, seconds=crowd.seconds) as base_url, serve_tools() as tools:
        queue = {"worker_count": crowd.sessions, "max_concurrent_sessions": crowd.sessions}
        write_shared_config(folder, base_url=base_url, tools=tools, iterations=crowd.iterations, queue=queue)
        async with open_replica(folder, dsn) as replica:
            await _play(replica, crowd, sessions=2)  # imports, connections and prepared statements
            idle = await _measure_idle()
            alone = await _play(replica, crowd, sessions=1, idle=idle)
            together = await _play(replica, crowd, sessions=crowd.sessions, idle=idle)
    return CrowdFigures(crowd=crowd, alone=alone, together=together)


async def _measure_idle() -> float:
    """CPU that a second of nothing costs."""
    cpu, wall = time.process_time(), time.perf_counter()
    await asyncio.sleep(3)
    return (time.process_time() - cpu) / (time.perf_counter() - wall)


async def _play(replica: Replica, crowd: Crowd, *, sessions: int, idle: float = 0.0) -> CrowdCost:
    gc.collect()
    process = psutil.Process()
    before = process.memory_info().rss
    with watch_callbacks() as longest:
        cpu, wall = time.process_time(), time.perf_counter()
        submitted = [await _submit(replica) for _ in range(sessions)]
        highest = await _wait_for_end(replica, process)
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    await _check(replica, submitted, iterations=crowd.iterations)
    return CrowdCost(
        wall=wall,
        cpu=(cpu - idle * wall) / sessions / crowd.iterations,
        memory=(highest - before) / sessions / 1e6,
        longest=longest,
    )


async def _submit(replica: Replica) -> UUID:
    alert = Alert(data="The machine feels slow.", alert_type=CHAIN, author="benchmark")
    return await replica.service.intake.submit(alert)


async def _wait_for_end(replica: Replica, process: psutil.Process) -> int:
    """The most memory that was seen on the way."""
    highest = 0
    async with asyncio.timeout(600):
        while True:
            await asyncio.sleep(0.1)
            highest = max(highest, process.memory_info().rss)
            async with replica.service.store.connect() as tx:
                if not await tx.fetchval(
                    "SELECT EXISTS (SELECT FROM alert_sessions WHERE status IN ('pending', 'in_progress'))"
                ):
                    return highest


async def _check(replica: Replica, sessions: list[UUID], *, iterations: int) -> None:
    async with replica.service.store.connect() as tx:
        rows = await tx.fetch(
            "SELECT s.status, count(c.*) AS calls FROM alert_sessions s LEFT JOIN tool_calls c "
            "ON c.session_id = s.session_id AND c.state = 'finished' AND c.error_code IS NULL "
            "WHERE s.session_id = ANY($1) GROUP BY s.session_id",
            sessions,
        )
    if {(row["status"], row["calls"]) for row in rows} != {("completed", iterations)}:
        raise RuntimeError("a session did not run as it should have")


@asynccontextmanager
async def serve_paced(iterations: int, *, seconds: float) -> AsyncGenerator[str]:
    options = ("--iterations", str(iterations), "--seconds", str(seconds))
    async with _serve(sys.executable, "-m", "benchmarks.paced_model", *options) as line:
        yield line


@asynccontextmanager
async def serve_tools() -> AsyncGenerator[str]:
    program = str(_ROOT / "tests/fakes/mcp_http_server.py")
    async with _serve(sys.executable, program, "--lookup-bytes", "300") as line:
        yield f"http://127.0.0.1:{line}/mcp"


@asynccontextmanager
async def _serve(*program: str) -> AsyncGenerator[str]:
    """The first line it writes. It is killed in the end, with whatever it has started."""
    process = await asyncio.create_subprocess_exec(*program, stdin=PIPE, stdout=PIPE, cwd=_ROOT)
    try:
        if process.stdout is None:
            raise RuntimeError("the program has no output")
        yield (await process.stdout.readline()).decode().strip()
    finally:
        for child in psutil.Process(process.pid).children(recursive=True):
            child.kill()
        process.kill()
        await process.wait()


def write_shared_config(folder: Path, *, base_url: str, tools: str, iterations: int, queue: Mapping[str, Any]) -> None:
    """One chain, whose agents share one tool server."""
    provider = {"type": "openai", "model": CHAIN, "base_url": base_url}
    server = {"transport": {"type": "http", "url": tools}, "shared": True, "kinds": {"read": ["*"]}}
    main = {
        "queue": dict(queue),
        "mcp_servers": {SERVER: server},
        "agents": {"Watch": {"mcp_servers": [SERVER]}},
        "agent_chains": {
            CHAIN: {
                "alert_types": [CHAIN],
                "max_iterations": iterations + 5,
                "stages": [{"name": "investigation", "agents": [{"name": "Watch"}]}],
            }
        },
        "defaults": {"llm_provider": CHAIN, "alert_type": CHAIN},
    }
    (folder / "midwatch.yaml").write_text(json.dumps(main))
    (folder / "llm-providers.yaml").write_text(json.dumps({"llm_providers": {CHAIN: provider}}))
