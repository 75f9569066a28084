"""How long an alert waits for an idle worker, against a bare NOTIFY round trip on the same database."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from benchmarks.report import Check
from midwatch.config.load import Config, load_config
from midwatch.domain.session import SessionStatus
from midwatch.intake.submit_alert import Alert, Intake, alert_mask
from midwatch.queue.claim import Claimant
from midwatch.queue.lease import Lease, LeaseTimes
from midwatch.queue.worker import Worker
from midwatch.store import driver
from midwatch.store.driver import Connection, Pool
from midwatch.store.engine import Store, open_store
from midwatch.store.sessions import WAKE_CHANNEL, Ending, finish_session
from midwatch.timeline.flush import Flusher
from midwatch.timeline.listen import listen

_MOST_ROUND_TRIPS = 20.0
_ROUND_TRIPS_PER_CLAIM = 4
_SETTLE = 0.02
"""Seconds in which a worker that has ended one session becomes idle again."""
_LIMIT = 10.0
_CHANNEL = "benchmark"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimFigures:
    """Medians in seconds."""

    round_trip: float
    since_commit: float
    since_submit: float

    @property
    def checks(self) -> list[Check]:
        return [
            Check(
                what="claim after a submit's commit, in NOTIFY round trips",
                measured=self.since_commit / self.round_trip,
                target=_MOST_ROUND_TRIPS,
            )
        ]

    @property
    def notes(self) -> list[str]:
        return [
            f"NOTIFY round trip: {self.round_trip * 1000:.2f} ms",
            f"claim after the submit's commit: {self.since_commit * 1000:.2f} ms",
            f"claim after the call of submit: {self.since_submit / self.round_trip:.2f} round trips",
        ]


@dataclass(slots=True)
class _TimedPool:
    """A pool that knows when it was last asked: for a submit that is after the commit and before the wake-up."""

    inner: Pool
    asked_at: float = 0.0

    def acquire(self, *, timeout: float | None = None) -> AbstractAsyncContextManager[Connection]:
        self.asked_at = time.perf_counter()
        return self.inner.acquire(timeout=timeout)

    def terminate(self) -> None:
        self.inner.terminate()


@dataclass(slots=True)
class _Claims:
    seen: asyncio.Event = field(default_factory=asyncio.Event)
    at: float = 0.0

    def note(self, _: Lease) -> None:
        self.at = time.perf_counter()
        self.seen.set()


async def measure_claims(config_folder: Path, dsn: str, *, claims: int) -> ClaimFigures:
    config = load_config(config_folder, environ={})
    round_trips: list[float] = []
    since_commit: list[float] = []
    since_submit: list[float] = []
    async with open_store(lambda: dsn) as store, _echo(dsn) as echo, _idle_worker(store, config) as seen:
        pool = _TimedPool(store.pool)
        intake = Intake(
            store=Store(pool, store.read_dsn), flusher=Flusher(store), config=config, mask=alert_mask(config)
        )
        async with _waking(intake):
            for _ in range(claims):
                round_trips += [await echo.measure() for _ in range(_ROUND_TRIPS_PER_CLAIM)]
                submitted = await _measure_claim(intake, seen)
                since_submit.append(seen.at - submitted)
                since_commit.append(seen.at - pool.asked_at)
    return ClaimFigures(
        round_trip=median(round_trips), since_commit=median(since_commit), since_submit=median(since_submit)
    )


@asynccontextmanager
async def _waking(intake: Intake) -> AsyncGenerator[None]:
    async with asyncio.TaskGroup() as group:
        waking = group.create_task(intake.waker.run(intake.store))
        yield
        waking.cancel()


async def _measure_claim(intake: Intake, claims: _Claims) -> float:
    """When the alert was submitted; the claim has been noted."""
    await asyncio.sleep(_SETTLE)
    claims.seen.clear()
    submitted = time.perf_counter()
    async with asyncio.timeout(_LIMIT):
        await intake.submit(Alert(data="The machine feels slow.", alert_type=_first_type(intake), author="benchmark"))
        await claims.seen.wait()
    return submitted


def _first_type(intake: Intake) -> str:
    return next(iter(intake.config.chains.values())).alert_types[0]


@asynccontextmanager
async def _idle_worker(store: Store, config: Config) -> AsyncGenerator[_Claims]:
    """A worker as a replica has it, whose sessions end as soon as they begin."""
    claims = _Claims()

    async def end_at_once(lease: Lease) -> None:
        async with store.begin() as tx:
            await finish_session(tx, lease.fence, Ending(status=SessionStatus.COMPLETED))
        lease.ended = True

    queue = config.queue
    times = LeaseTimes(duration=queue.lease, heartbeat=queue.heartbeat_interval)
    claimant = Claimant(
        store=store, owner="benchmark", pod_id="benchmark", cap=queue.max_concurrent_sessions, times=times
    )
    worker = Worker(
        store=store,
        claim=claimant.claim,
        run=end_at_once,
        slots=queue.worker_count,
        poll_interval=queue.poll_interval.total_seconds(),
        poll_jitter=queue.poll_interval_jitter.total_seconds(),
        on_claimed=claims.note,
    )
    listening = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(worker.serve())
        listener = group.create_task(listen(store, {WAKE_CHANNEL: lambda _: worker.wake()}, on_connected=listening.set))
        await listening.wait()
        yield claims
        worker.drain()
        listener.cancel()


@dataclass(frozen=True, slots=True)
class _Echo:
    speaker: Connection
    heard: asyncio.Event

    async def measure(self) -> float:
        self.heard.clear()
        sent = time.perf_counter()
        await self.speaker.execute("SELECT pg_notify($1, '')", _CHANNEL)
        await self.heard.wait()
        return time.perf_counter() - sent


@asynccontextmanager
async def _echo(dsn: str) -> AsyncGenerator[_Echo]:
    listener, speaker = await driver.connect(dsn), await driver.connect(dsn)
    heard = asyncio.Event()
    try:
        await listener.add_listener(_CHANNEL, lambda _connection, _pid, _channel, _payload: heard.set())
        yield _Echo(speaker, heard)
    finally:
        listener.terminate()
        speaker.terminate()
