"""Holding a lease: heartbeats while a run works, and an end to the run before anybody else may begin one."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from midwatch.domain.errors import Draining, LeaseLost
from midwatch.domain.session import SessionStatus, StopReason
from midwatch.queue.claim import Claimant
from midwatch.queue.lease import Lease, LeaseTimes
from midwatch.store.engine import Store
from midwatch.store.sessions import Ending, finish_session, request_cancel
from tests.fakes.cutting_pool import CuttingPool, Harm
from tests.stored import add_session, claim_one, expire_lease

LIMIT = 5
OFTEN = LeaseTimes(duration=timedelta(seconds=30), heartbeat=timedelta(milliseconds=5))
RARELY = LeaseTimes(duration=timedelta(hours=1), heartbeat=timedelta(minutes=20))


async def take(store: Store, times: LeaseTimes) -> Lease:
    await add_session(store)
    claimant = Claimant(store=store, owner="pod:1", pod_id="pod", cap=5, times=times)
    lease = await claimant.claim()
    assert lease is not None
    return lease


class Run:
    """A run that works until it is cancelled or told to end."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.may_end = asyncio.Event()
        self.was_cancelled = False

    async def __call__(self, lease: Lease) -> None:
        assert not lease.ended
        self.begun.set()
        try:
            await self.may_end.wait()
        except asyncio.CancelledError:
            self.was_cancelled = True
            raise


async def hold(
    lease: Lease, store: Store, run: Callable[[Lease], Awaitable[None]], meanwhile: Callable[[], Awaitable[object]]
) -> None:
    async with asyncio.timeout(LIMIT), asyncio.TaskGroup() as group:
        group.create_task(lease.hold(store, run))
        await meanwhile()


async def read_lease(store: Store) -> tuple[bool, bool]:
    """Whether it has expired, and whether that was planned."""
    async with store.connect() as tx:
        row = await tx.fetchrow("SELECT expires_at <= clock_timestamp() AS over, released FROM session_leases")
    assert row is not None
    return row["over"], row["released"]


async def test_heartbeats_extend_the_lease(clean_store: Store) -> None:
    lease, run = await take(clean_store, OFTEN), Run()
    first = lease.renewed_at

    async def watch() -> None:
        await run.begun.wait()
        async with clean_store.connect() as tx:
            await tx.execute("UPDATE session_leases SET expires_at = clock_timestamp() + interval '1 second'")
            while not await tx.fetchval("SELECT expires_at > clock_timestamp() + '20 s' FROM session_leases"):
                pass
        run.may_end.set()

    await hold(lease, clean_store, run, watch)
    assert not run.was_cancelled
    assert lease.renewed_at > first
    assert await read_lease(clean_store) == (True, False)


async def test_a_cancellation_is_learned_from_a_heartbeat(clean_store: Store) -> None:
    lease, run = await take(clean_store, OFTEN), Run()

    async def cancel() -> None:
        await run.begun.wait()
        async with clean_store.begin() as tx:
            await request_cancel(tx, lease.session_id)

    await hold(lease, clean_store, run, cancel)
    assert run.was_cancelled
    assert lease.stop_reason is StopReason.CANCELLED


async def test_a_poke_makes_the_next_heartbeat_come_at_once(clean_store: Store) -> None:
    lease, run = await take(clean_store, RARELY), Run()

    async def cancel() -> None:
        await run.begun.wait()
        async with clean_store.begin() as tx:
            await request_cancel(tx, lease.session_id)
        lease.poke()

    await hold(lease, clean_store, run, cancel)
    assert run.was_cancelled


async def test_a_run_whose_lease_was_taken_over_is_stopped_and_releases_nothing(clean_store: Store) -> None:
    lease, run = await take(clean_store, RARELY), Run()

    async def steal() -> None:
        await run.begun.wait()
        await expire_lease(clean_store, lease.session_id)
        assert (await claim_one(clean_store)).fence.epoch == 2
        lease.poke()

    await hold(lease, clean_store, run, steal)
    assert (run.was_cancelled, lease.stop_reason, lease.ended) == (True, StopReason.LOST, True)
    assert await read_lease(clean_store) == (False, False)
    with pytest.raises(LeaseLost):
        lease.check()


async def test_a_run_stops_itself_when_no_renewal_gets_through(clean_store: Store) -> None:
    """By the machine's own clock, at two thirds of the lease: nobody may take over before that."""
    times = LeaseTimes(duration=timedelta(seconds=0.3), heartbeat=timedelta(seconds=0.01))
    lease, run = await take(clean_store, times), Run()
    broken = replace(clean_store, pool=CuttingPool(clean_store.pool, dict.fromkeys(range(1, 999), Harm.LOSE_QUESTION)))
    begun = lease.clock()
    await hold(lease, broken, run, run.begun.wait)
    assert (run.was_cancelled, lease.stop_reason) == (True, StopReason.LOST)
    assert 0.1 < lease.clock() - begun < 2
    assert lease.remaining <= 0


async def test_a_lease_is_checked_against_the_clock(clean_store: Store) -> None:
    now = 0.0
    lease = await take(clean_store, RARELY)
    lease.clock, lease.renewed_at = lambda: now, 0.0
    now = 2_399.0
    lease.check()
    now = 2_400.0
    with pytest.raises(LeaseLost):
        lease.check()


async def test_a_draining_run_stops_at_its_next_commit_and_is_released_as_planned(clean_store: Store) -> None:
    lease = await take(clean_store, RARELY)

    async def run(lease: Lease) -> None:
        lease.checkpoint()
        lease.drain()
        with pytest.raises(Draining):
            lease.checkpoint()

    await lease.hold(clean_store, run)
    assert await read_lease(clean_store) == (True, True)
    assert lease.ended


async def test_a_run_that_crashes_is_released_and_counted(clean_store: Store) -> None:
    lease = await take(clean_store, RARELY)

    async def crash(_: Lease) -> None:
        raise RuntimeError

    await lease.hold(clean_store, crash)
    assert await read_lease(clean_store) == (True, False)
    assert (await claim_one(clean_store)).attempts == 1


async def test_a_session_that_ended_is_not_released(clean_store: Store) -> None:
    lease = await take(clean_store, RARELY)

    async def finish(lease: Lease) -> None:
        async with clean_store.begin() as tx:
            await finish_session(tx, lease.fence, Ending(status=SessionStatus.COMPLETED))
        lease.ended = True

    await lease.hold(clean_store, finish)
    async with clean_store.connect() as tx:
        assert await tx.fetchval("SELECT expires_at FROM session_leases") is None
