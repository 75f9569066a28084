"""Calls and agents at work: each can be ended alone, before it began, while it runs, and however often it is said."""

import asyncio

import pytest

from midwatch.kit.ids import new_id
from midwatch.tools.inflight import CallCancelled, CallsInFlight


async def test_what_runs_is_ended_and_its_neighbour_is_not() -> None:
    calls = CallsInFlight()
    ended, spared = new_id(), new_id()
    begun, over = asyncio.Barrier(3), asyncio.Event()

    async def work(part: object) -> str:
        try:
            async with calls.cancellable(ended if part == ended else spared):
                await begun.wait()
                await over.wait()
        except CallCancelled:
            over.set()
            return "ended"
        return "done"

    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        tasks = [group.create_task(work(part)) for part in (ended, spared)]
        await begun.wait()
        for _ in range(3):
            calls.cancel(ended)
    assert [task.result() for task in tasks] == ["ended", "done"]


async def test_what_was_ended_before_it_began_does_not_begin() -> None:
    calls = CallsInFlight()
    part = new_id()
    for _ in range(3):
        calls.cancel(part)
    begun = False
    with pytest.raises(CallCancelled):
        async with calls.cancellable(part):
            begun = True
    assert not begun


async def test_saying_the_same_again_pushes_nothing_else_out_of_mind() -> None:
    calls = CallsInFlight()
    first, often = new_id(), new_id()
    calls.cancel(first)
    for _ in range(2_000):
        calls.cancel(often)
    assert calls.is_cancelled(first)


async def test_an_outer_part_that_is_ended_takes_its_inner_parts_with_it() -> None:
    calls = CallsInFlight()
    agent, call = new_id(), new_id()
    inner_ended = False

    async def work() -> None:
        nonlocal inner_ended
        async with calls.cancellable(agent):
            try:
                async with calls.cancellable(call):
                    calls.cancel(agent)
                    await asyncio.Event().wait()
            except CallCancelled:
                inner_ended = True

    with pytest.raises(CallCancelled):
        await work()
    assert not inner_ended
