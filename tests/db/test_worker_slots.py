"""Slots of a worker, and what must not cost one."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from uuid import UUID

import pytest

from midwatch.domain.session import SessionStatus
from midwatch.kit.ids import new_id
from midwatch.queue.claim import Claimant
from midwatch.queue.lease import Lease, LeaseTimes
from midwatch.queue.worker import Worker
from midwatch.store.engine import Store
from midwatch.store.sessions import Ending, NewSession, finish_session, insert_session

Run = Callable[[Lease], Awaitable[None]]


async def add_session(store: Store) -> UUID:
    new = NewSession(session_id=new_id(), alert_type="x", alert_data="x", chain_id="x", chain={}, author=None)
    async with store.connect() as tx:
        await insert_session(tx, new)
    return new.session_id


async def finish(store: Store, lease: Lease) -> None:
    async with store.begin() as tx:
        await finish_session(tx, lease.fence, Ending(status=SessionStatus.COMPLETED))
    lease.ended = True


@asynccontextmanager
async def serving(store: Store, run: Run) -> AsyncGenerator[Worker]:
    """One slot, so that a single lost one stops everything."""
    claimant = Claimant(store=store, owner="me", pod_id="me", cap=5, times=LeaseTimes())
    worker = Worker(store=store, claim=claimant.claim, run=run, slots=1, poll_interval=0.05, poll_jitter=0.01)
    async with asyncio.TaskGroup() as group, asyncio.timeout(60):
        group.create_task(worker.serve(), name="worker")
        yield worker
        worker.drain()


async def raise_cancelled(_: Lease) -> None:
    raise asyncio.CancelledError


async def cancel_own_task(_: Lease) -> None:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await asyncio.Event().wait()


async def raise_bug(_: Lease) -> None:
    raise RuntimeError("a bug")


@pytest.mark.parametrize("fault", [raise_cancelled, cancel_own_task, raise_bug])
async def test_a_run_that_ends_strangely_costs_no_slot_and_its_session_is_run_again(store: Store, fault: Run) -> None:
    ran: list[UUID] = []
    done = asyncio.Event()

    async def run(lease: Lease) -> None:
        ran.append(lease.session_id)
        if len(ran) == 1:
            await fault(lease)
        await finish(store, lease)
        if len(ran) == 3:
            done.set()

    sessions = [await add_session(store), await add_session(store)]
    async with serving(store, run) as worker:
        await done.wait()
        assert worker.live_slots == 1
    assert sorted(ran) == sorted([*sessions, sessions[0]])
    assert worker.live_slots == 0


async def test_a_cancellation_that_strikes_the_slot_itself_costs_no_slot(store: Store) -> None:
    done = asyncio.Event()
    struck: list[Lease] = []
    ran: list[UUID] = []

    async def run(lease: Lease) -> None:
        if not struck:
            struck.append(lease)
            (slot,) = [task for task in asyncio.all_tasks() if task.get_name() == "slot-0"]
            slot.cancel()
            await asyncio.Event().wait()
        await finish(store, lease)
        ran.append(lease.session_id)
        done.set()

    first, second = await add_session(store), await add_session(store)
    async with serving(store, run) as worker:
        await done.wait()
        assert worker.live_slots == 1
    assert (struck[0].session_id, ran) == (first, [second])


async def test_a_worker_that_is_cancelled_ends(store: Store) -> None:
    running = asyncio.Event()

    async def run(_: Lease) -> None:
        running.set()
        await asyncio.Event().wait()

    await add_session(store)
    claimant = Claimant(store=store, owner="me", pod_id="me", cap=5, times=LeaseTimes())
    worker = Worker(store=store, claim=claimant.claim, run=run, slots=3)
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        serve = group.create_task(worker.serve(), name="worker")
        await running.wait()
        assert (worker.live_slots, worker.busy_slots) == (3, 1)
        serve.cancel()
    assert (worker.live_slots, worker.busy_slots) == (0, 0)
