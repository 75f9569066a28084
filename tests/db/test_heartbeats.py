"""Heartbeats of many leases at once: few statements, no lease held up by another, and none lost that is not lost."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta

import pytest

from midwatch.domain.errors import StoreUnavailable
from midwatch.domain.session import SessionStatus
from midwatch.queue.heartbeats import Heartbeats
from midwatch.store.driver import Connection, Pool
from midwatch.store.engine import Store
from midwatch.store.fence import Fence
from midwatch.store.leases import Renewal, release_lease
from midwatch.store.sessions import Ending, finish_session, request_cancel
from tests.stored import LEASE, add_running, claim_one, expire_lease

LIMIT = 20


@dataclass(slots=True)
class CountingPool:
    """Counts how often a connection was taken, and makes the first wait until it is let through."""

    inner: Pool
    may_pass: asyncio.Event
    taken: int = 0

    @asynccontextmanager
    async def _acquire(self, timeout: float | None) -> AsyncGenerator[Connection]:  # noqa: ASYNC109 -- asyncpg's name
        self.taken += 1
        await self.may_pass.wait()
        async with self.inner.acquire(timeout=timeout) as connection:
            yield connection

    def acquire(self, *, timeout: float | None = None) -> AbstractAsyncContextManager[Connection]:
        return self._acquire(timeout)

    def terminate(self) -> None:
        self.inner.terminate()


def count(store: Store) -> tuple[Store, CountingPool]:
    pool = CountingPool(store.pool, asyncio.Event())
    return replace(store, pool=pool), pool


async def renew_all(
    heartbeats: Heartbeats, store: Store, fences: Sequence[Fence], pool: CountingPool
) -> list[Renewal | None]:
    """The first is let through when all the others wait."""
    async with asyncio.timeout(LIMIT), asyncio.TaskGroup() as group:
        tasks = [group.create_task(heartbeats.renew(store, fence, LEASE)) for fence in fences]
        await asyncio.sleep(0)
        pool.may_pass.set()
    return [task.result() for task in tasks]


async def shorten(store: Store) -> None:
    async with store.connect() as tx:
        await tx.execute("UPDATE session_leases SET expires_at = clock_timestamp() + interval '9 seconds'")


async def count_extended(store: Store) -> int:
    async with store.connect() as tx:
        return await tx.fetchval(
            "SELECT count(*) FROM session_leases WHERE expires_at > clock_timestamp() + interval '10 seconds' "
            "AND renewed_at IS NOT NULL"
        )


async def test_fifty_leases_are_renewed_in_two_statements(clean_store: Store) -> None:
    fences = [await add_running(clean_store) for _ in range(50)]
    await shorten(clean_store)
    store, pool = count(clean_store)
    renewals = await renew_all(Heartbeats(), store, fences, pool)
    assert renewals == [Renewal(status=SessionStatus.IN_PROGRESS)] * 50
    assert pool.taken == 2
    assert await count_extended(clean_store) == 50


async def test_each_lease_learns_its_own_fate(clean_store: Store) -> None:
    fences = [await add_running(clean_store) for _ in range(4)]
    sound, cancelled, stolen, ended = fences
    async with clean_store.begin() as tx:
        await request_cancel(tx, cancelled.session_id)
    await expire_lease(clean_store, stolen.session_id)
    await claim_one(clean_store, cap=100)
    async with clean_store.begin() as tx:
        await finish_session(tx, ended, Ending(status=SessionStatus.COMPLETED))
    store, pool = count(clean_store)
    renewals = await renew_all(Heartbeats(), store, [sound, sound, cancelled, stolen, ended], pool)
    assert renewals[1:] == [
        Renewal(status=SessionStatus.IN_PROGRESS),
        Renewal(status=SessionStatus.CANCELLING),
        None,
        Renewal(status=SessionStatus.COMPLETED, is_over=True),
    ]


async def test_a_row_that_somebody_has_locked_holds_up_nobody_else(clean_store: Store) -> None:
    first, locked, free = [await add_running(clean_store) for _ in range(3)]
    await shorten(clean_store)
    heartbeats = Heartbeats()
    store, pool = count(clean_store)
    async with asyncio.timeout(LIMIT), asyncio.TaskGroup() as group:
        async with clean_store.begin() as tx:
            await tx.execute("SELECT FROM session_leases WHERE session_id = $1 FOR UPDATE", locked.session_id)
            tasks = [group.create_task(heartbeats.renew(store, fence, LEASE)) for fence in (first, locked, free)]
            await asyncio.sleep(0)
            pool.may_pass.set()
            assert await tasks[0] is not None
            assert await tasks[2] is not None
            assert not tasks[1].done()
        assert await tasks[1] == Renewal(status=SessionStatus.IN_PROGRESS)


async def test_a_heartbeat_that_comes_late_does_not_take_back_what_was_let_go(clean_store: Store) -> None:
    """The sender of all goes on, although one of those it sends for has ended its run meanwhile."""
    first, leader, let_go = [await add_running(clean_store) for _ in range(3)]
    heartbeats = Heartbeats()
    store, pool = count(clean_store)
    async with asyncio.timeout(LIMIT), asyncio.TaskGroup() as group:
        tasks = [group.create_task(heartbeats.renew(store, fence, LEASE)) for fence in (first, leader, let_go)]
        await asyncio.sleep(0)
        tasks[2].cancel()
        async with clean_store.connect() as tx:
            assert await release_lease(tx, let_go, planned=True)
        pool.may_pass.set()
    assert (await claim_one(clean_store)).fence.session_id == let_go.session_id


async def test_those_who_wait_for_a_sender_that_is_cancelled_send_for_themselves(clean_store: Store) -> None:
    fences = [await add_running(clean_store) for _ in range(3)]
    heartbeats = Heartbeats()
    store, pool = count(clean_store)
    async with asyncio.timeout(LIMIT), asyncio.TaskGroup() as group:
        leader = group.create_task(heartbeats.renew(store, fences[0], LEASE))
        others = [group.create_task(heartbeats.renew(store, fence, LEASE)) for fence in fences[1:]]
        await asyncio.sleep(0)
        leader.cancel()
        await asyncio.wait({leader})
        pool.may_pass.set()
    assert [task.result() for task in others] == [Renewal(status=SessionStatus.IN_PROGRESS)] * 2


async def test_a_connection_that_hangs_is_given_up_in_time_for_another(clean_store: Store) -> None:
    fence = await add_running(clean_store)
    heartbeats = Heartbeats()
    store, pool = count(clean_store)
    async with asyncio.timeout(LIMIT):
        with pytest.raises(StoreUnavailable):
            await heartbeats.renew(store, fence, timedelta(milliseconds=200))
        pool.may_pass.set()
        assert await heartbeats.renew(store, fence, LEASE) is not None
