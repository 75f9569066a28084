"""What others take over: how soon after a kill, how dear a long session is to resume, and how a load is shared.

Replicas that are killed or compared are processes of their own. What a resumption costs is CPU of this process, from
the moment a replica works until its agent is about to ask the model.
"""

import asyncio
import os
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from uuid import UUID

import psutil

from benchmarks.crowd import CHAIN, serve_paced, serve_tools, write_shared_config
from benchmarks.replica import bench_env
from benchmarks.report import Check
from midwatch.config.load import load_config
from midwatch.intake.submit_alert import Alert
from midwatch.running import Service
from midwatch.store.engine import Store, open_store
from midwatch.wiring import Plan, open_service
from tests.replicas import Fleet, Replica, open_fleet
from tests.waiting import eventually

_HEARTBEAT = 2.0
_LEASE = 3 * _HEARTBEAT
_MOST_BEYOND_LEASE = 10.0
_MOST_TIMES_SHORT = 5.0
_MOST_OF_ONE = 0.65
_ENDLESS = 100_000
_ASKING = (b'"type":"execution.progress"', b'"phase":"investigating"')
_LIMIT = 600.0
_SLOTS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    short: int = 500
    """Events of a session."""
    long: int = 5_000
    rounds: int = 5
    sessions: int = 4 * _SLOTS
    iterations: int = 20


QUICK = Scale(short=50, long=500, rounds=3, sessions=2 * _SLOTS, iterations=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryFigures:
    scale: Scale
    beyond_lease: float
    """Seconds."""
    short: float
    long: float
    """Seconds of CPU until the model is asked again."""
    alone: float
    shared: tuple[float, float]
    """Seconds of CPU of each replica."""

    @property
    def checks(self) -> list[Check]:
        return [
            Check(
                what="take-over after kill -9: seconds beyond the lease",
                measured=self.beyond_lease,
                target=_MOST_BEYOND_LEASE,
            ),
            Check(
                what=f"resuming a session with {self.scale.long} events: CPU, against {self.scale.short}",
                measured=self.long / self.short,
                target=_MOST_TIMES_SHORT,
            ),
            Check(
                what="two replicas: CPU of the busier one, against one that does it all",
                measured=max(self.shared) / self.alone,
                target=_MOST_OF_ONE,
            ),
        ]

    @property
    def notes(self) -> list[str]:
        shares = " and ".join(f"{share:.1f}" for share in self.shared)
        short, long = (f"{seconds * 1000:.0f} ms CPU" for seconds in (self.short, self.long))
        return [
            f"resuming {self.scale.short} events: {short}; {self.scale.long} events: {long}",
            f"the same load: {self.alone:.1f} s CPU of one replica, {shares} s of two",
        ]


async def measure_recovery(folder: Path, dsn: str, *, scale: Scale) -> RecoveryFigures:
    folder = folder / "recovery"
    folder.mkdir()
    async with serve_tools() as tools, open_store(lambda: dsn, min_size=1, max_size=2) as store:
        async with serve_paced(_ENDLESS, seconds=0) as base_url:
            queue = {"worker_count": 1, "graceful_shutdown_timeout": "1s"}
            write_shared_config(folder, base_url=base_url, tools=tools, iterations=_ENDLESS, queue=queue)
            short = await _measure_resuming(folder, dsn, events=scale.short, rounds=scale.rounds)
            long = await _measure_resuming(folder, dsn, events=scale.long, rounds=scale.rounds)
        async with serve_paced(_ENDLESS, seconds=1) as base_url:
            queue = {"worker_count": 1, "heartbeat_interval": f"{_HEARTBEAT:g}s"}
            write_shared_config(folder, base_url=base_url, tools=tools, iterations=_ENDLESS, queue=queue)
            beyond = await _measure_take_over(folder, dsn, store)
        async with serve_paced(scale.iterations, seconds=0) as base_url:
            queue = {"worker_count": _SLOTS, "max_concurrent_sessions": 2 * _SLOTS}
            write_shared_config(folder, base_url=base_url, tools=tools, iterations=scale.iterations, queue=queue)
            (alone,) = await _measure_load(folder, dsn, store, names=("one",), sessions=scale.sessions)
            first, second = await _measure_load(folder, dsn, store, names=("one", "two"), sessions=scale.sessions)
    return RecoveryFigures(
        scale=scale, beyond_lease=beyond, short=short, long=long, alone=alone, shared=(first, second)
    )


@asynccontextmanager
async def _service(folder: Path, dsn: str) -> AsyncGenerator[Service]:
    """Nothing runs yet."""
    plan = Plan(config=load_config(folder, environ={}), env=bench_env(folder, dsn), environ=os.environ)
    async with open_service(plan) as service:
        yield service


async def _measure_resuming(folder: Path, dsn: str, *, events: int, rounds: int) -> float:
    """Of one session that never ends, again and again: what it does in between is little beside what it has done."""
    async with _service(folder, dsn) as service, asyncio.timeout(_LIMIT):
        session_id = await service.intake.submit(Alert(data="Slow.", alert_type=CHAIN, author="benchmark"))
        async with asyncio.TaskGroup() as group:
            group.create_task(service.run())
            await eventually(lambda: _has_told(service.store, session_id, events), within=_LIMIT)
            service.drain()
    costs = [await _resume(folder, dsn, session_id) for _ in range(rounds + 1)][1:]
    async with _service(folder, dsn) as service, service.store.connect() as tx:
        await tx.execute("DELETE FROM alert_sessions WHERE session_id = $1", session_id)
    return median(costs)


async def _has_told(store: Store, session_id: UUID, events: int) -> bool:
    async with store.connect() as tx:
        return await tx.fetchval("SELECT seq >= $2 FROM session_feeds WHERE session_id = $1", session_id, events)


async def _resume(folder: Path, dsn: str, session_id: UUID) -> float:
    async with _service(folder, dsn) as service, asyncio.timeout(_LIMIT), asyncio.TaskGroup() as group:
        async with service.hub.subscribe(session_id) as subscription:
            cpu = time.process_time()
            group.create_task(service.run())
            while True:
                item = await subscription.next()
                if all(word in getattr(item, "data", b"") for word in _ASKING):
                    break
            cpu = time.process_time() - cpu
        service.drain()
    return cpu


async def _measure_take_over(folder: Path, dsn: str, store: Store) -> float:
    async with open_fleet(folder, config_dir=folder, environ={"DATABASE_URL": dsn}) as fleet:
        first, second = await fleet.start("first", "second")
        session_id = await first.submit()
        owner = await eventually(lambda: _find_owner(store, session_id), within=_LIMIT)
        holder, other = (first, second) if owner == first.name else (second, first)
        await holder.kill()
        killed = time.monotonic()
        await eventually(lambda: _is_owned_by(store, session_id, other.name), within=_LIMIT)
        taken = time.monotonic() - killed
        await other.cancel(session_id)
    return max(taken - _LEASE, 0.0)


async def _find_owner(store: Store, session_id: UUID) -> str | None:
    async with store.connect() as tx:
        owner = await tx.fetchval("SELECT owner FROM session_leases WHERE session_id = $1", session_id)
    return owner and owner.rpartition(":")[0]


async def _is_owned_by(store: Store, session_id: UUID, name: str) -> bool:
    return await _find_owner(store, session_id) == name


async def _measure_load(
    folder: Path, dsn: str, store: Store, *, names: tuple[str, ...], sessions: int
) -> tuple[float, ...]:
    async with open_fleet(folder, config_dir=folder, environ={"DATABASE_URL": dsn}) as fleet:
        replicas = await fleet.start(*names)
        await _run_all(fleet, store, sessions=len(replicas) * _SLOTS)  # imports, connections and prepared statements
        before = [_read_cpu(replica) for replica in replicas]
        await _run_all(fleet, store, sessions=sessions)
        return tuple(_read_cpu(replica) - cpu for replica, cpu in zip(replicas, before, strict=True))


async def _run_all(fleet: Fleet, store: Store, *, sessions: int) -> None:
    for number in range(sessions):
        await fleet.replicas[number % len(fleet.replicas)].submit()
    await eventually(lambda: _is_done(store), within=_LIMIT)


async def _is_done(store: Store) -> bool:
    async with store.connect() as tx:
        return not await tx.fetchval(
            "SELECT EXISTS (SELECT FROM alert_sessions WHERE status IN ('pending', 'in_progress'))"
        )


def _read_cpu(replica: Replica) -> float:
    times = psutil.Process(replica.process.pid).cpu_times()
    return times.user + times.system
