"""Owned tasks: what must be finished is finished, however often whoever waits for it is cancelled."""

import asyncio

import pytest

from midwatch.kit.owned import OwnedTasks

LIMIT = 5


async def test_the_outcome_is_handed_to_whoever_asked() -> None:
    async def work() -> str:
        return "done"

    async with OwnedTasks() as owned:
        assert await owned.finish(work(), seconds=1) == "done"


async def test_work_goes_on_although_its_waiter_is_cancelled_twice() -> None:
    begun, may_end, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def work() -> None:
        begun.set()
        await may_end.wait()
        ended.set()

    async with asyncio.timeout(LIMIT), OwnedTasks() as owned, asyncio.TaskGroup() as group:
        waiter = group.create_task(owned.finish(work(), seconds=LIMIT))
        await begun.wait()
        for _ in range(2):
            waiter.cancel()
            await asyncio.wait({waiter}, timeout=0)
            assert not waiter.done()
        may_end.set()
    assert ended.is_set()
    assert waiter.cancelled()


async def test_leaving_waits_for_what_is_under_way_even_on_an_error() -> None:
    begun, may_end, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def work() -> None:
        begun.set()
        await may_end.wait()
        ended.set()

    async def leave() -> None:
        async with OwnedTasks() as owned, asyncio.TaskGroup() as group:
            group.create_task(owned.finish(work(), seconds=LIMIT))
            await begun.wait()
            raise RuntimeError("the rest fell down")

    async with asyncio.timeout(LIMIT), asyncio.TaskGroup() as group:
        group.create_task(release(begun, may_end))
        with pytest.raises(ExceptionGroup):
            await leave()
    assert ended.is_set()


async def release(begun: asyncio.Event, may_end: asyncio.Event) -> None:
    await begun.wait()
    may_end.set()


async def test_work_that_takes_too_long_is_ended() -> None:
    async with asyncio.timeout(LIMIT), OwnedTasks() as owned:
        with pytest.raises(TimeoutError):
            await owned.finish(asyncio.Event().wait(), seconds=0.01)


async def test_an_error_reaches_the_waiter_and_leaves_the_other_tasks_alone() -> None:
    may_end = asyncio.Event()

    async def fail() -> None:
        raise ValueError("no")

    async with asyncio.timeout(LIMIT), OwnedTasks() as owned, asyncio.TaskGroup() as group:
        other = group.create_task(owned.finish(may_end.wait(), seconds=LIMIT))
        with pytest.raises(ValueError, match="no"):
            await owned.finish(fail(), seconds=1)
        may_end.set()
    assert other.result() is True
