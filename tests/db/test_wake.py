"""Idle workers are told of new alerts at once, and in a storm not of each."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace

from midwatch.intake.wake import PAUSE, Waker
from midwatch.store.engine import Store
from midwatch.store.sessions import WAKE_CHANNEL
from tests.fakes.cutting_pool import CuttingPool, Harm
from tests.waiting import eventually


@asynccontextmanager
async def hearing(store: Store) -> AsyncGenerator[asyncio.Queue[str]]:
    heard: asyncio.Queue[str] = asyncio.Queue()
    connection = await store.dedicated()
    try:
        await connection.add_listener(WAKE_CHANNEL, lambda _connection, _pid, _channel, said: heard.put_nowait(said))
        yield heard
    finally:
        connection.terminate()


@asynccontextmanager
async def running(waker: Waker, store: Store) -> AsyncGenerator[None]:
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        task = group.create_task(waker.run(store))
        yield
        task.cancel()


async def test_workers_are_told_each_time_there_is_something_new(store: Store) -> None:
    waker = Waker()
    async with hearing(store) as heard, running(waker, store):
        for _ in range(3):
            waker.wake()
            assert await heard.get() == "queue"
        assert heard.empty()


async def test_in_a_storm_one_call_speaks_for_many_and_for_the_last(store: Store) -> None:
    waker = Waker()
    began = time.monotonic()
    async with hearing(store) as heard, running(waker, store):
        for _ in range(100):
            waker.wake()
            async with store.connect() as tx:
                await tx.fetchval("SELECT 1")
        told = heard.qsize()
        waker.wake()
        await eventually(lambda: heard.qsize() > told)
        assert heard.qsize() <= (time.monotonic() - began) / PAUSE + 1


async def test_a_call_that_is_lost_does_not_end_the_calling(store: Store) -> None:
    waker = Waker()
    pool = CuttingPool(store.pool, {1: Harm.LOSE_QUESTION}, reads_count=True)
    async with hearing(store) as heard, running(waker, replace(store, pool=pool)):
        waker.wake()
        await eventually(lambda: pool.commits == 1)
        waker.wake()
        assert await heard.get() == "queue"
    assert pool.commits == 2
