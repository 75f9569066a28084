"""Who may run a session: claims, take-overs, heartbeats, releases, and the end that only an owner writes."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest

from midwatch.domain.errors import LeaseLost
from midwatch.domain.session import SessionStatus
from midwatch.kit import json
from midwatch.kit.ids import new_id
from midwatch.store.calls import start_call
from midwatch.store.driver import Tx
from midwatch.store.engine import Store, open_store
from midwatch.store.fence import Fence, pass_fence
from midwatch.store.journal import Batch, commit_batch
from midwatch.store.leases import Renewal, release_lease, renew_lease
from midwatch.store.runs import NewExecution
from midwatch.store.sessions import CancelRequest, Ending, finish_session, request_cancel
from tests.fakes.cutting_pool import CuttingPool, Harm
from tests.fakes.openai_server import by_turn
from tests.invariants import check_session
from tests.lives import open_world
from tests.stored import (
    LEASE,
    add_execution,
    add_running,
    add_session,
    claim_next,
    claim_one,
    commit_events,
    expire_lease,
    read_everything,
    request_call,
)


async def test_the_oldest_pending_session_is_claimed_first(clean_store: Store) -> None:
    sessions = [await add_session(clean_store) for _ in range(3)]
    async with clean_store.connect() as tx:
        await tx.execute(
            "UPDATE alert_sessions SET created_at = created_at - interval '1 hour' WHERE session_id = $1", sessions[1]
        )
    claimed = [(await claim_one(clean_store)).fence.session_id for _ in sessions]
    assert claimed == [sessions[1], sessions[0], sessions[2]]
    assert await claim_next(clean_store) is None


async def test_sixteen_claimers_at_once_get_exactly_as_many_sessions_as_may_run(
    shared_dsn: str, clean_store: Store
) -> None:
    for _ in range(16):
        await add_session(clean_store)
    async with open_store(lambda: shared_dsn, min_size=16, max_size=16) as store, asyncio.TaskGroup() as group:
        claims = [group.create_task(claim_next(store, cap=5)) for _ in range(16)]
    claimed = [claim.fence.session_id for task in claims if (claim := task.result()) is not None]
    assert len(claimed) == len(set(claimed)) == 5


async def test_an_expired_lease_is_taken_over_although_no_more_sessions_may_run(clean_store: Store) -> None:
    held = await add_running(clean_store)
    await add_running(clean_store)
    await add_session(clean_store)
    assert await claim_next(clean_store, cap=2) is None
    await expire_lease(clean_store, held.session_id)
    claim = await claim_one(clean_store, cap=1)
    assert (claim.fence.session_id, claim.taken_over, claim.resumed) == (held.session_id, True, True)
    assert await claim_next(clean_store, cap=2) is None


async def test_every_claim_raises_the_epoch_of_the_lease_and_of_the_fence(clean_store: Store) -> None:
    fences = [await add_running(clean_store)]
    for _ in range(2):
        await expire_lease(clean_store, fences[0].session_id)
        fences.append((await claim_one(clean_store)).fence)
    assert [fence.epoch for fence in fences] == [1, 2, 3]
    async with clean_store.connect() as tx:
        assert await tx.fetchval("SELECT epoch FROM session_feeds") == 3


async def test_attempts_count_takeovers_in_a_row_that_nobody_planned(clean_store: Store) -> None:
    fence = await add_running(clean_store)

    async def attempts_after_expiry() -> int:
        nonlocal fence
        await expire_lease(clean_store, fence.session_id)
        claim = await claim_one(clean_store)
        fence = claim.fence
        return claim.attempts

    async def attempts_after_release(*, planned: bool) -> int:
        async with clean_store.connect() as tx:
            assert await release_lease(tx, fence, planned=planned)
        return await attempts_after_expiry()

    assert [await attempts_after_expiry() for _ in range(2)] == [1, 2]
    assert await attempts_after_release(planned=True) == 2
    assert await attempts_after_release(planned=False) == 3
    await commit_without_progress(clean_store, fence)
    assert await attempts_after_expiry() == 4
    await commit_progress(clean_store, fence)
    assert await attempts_after_expiry() == 1
    await commit_progress(clean_store, fence)
    assert await attempts_after_release(planned=True) == 0


async def commit_without_progress(store: Store, fence: Fence) -> None:
    async with store.connect() as tx:
        await commit_batch(tx, fence, Batch(), stage_id=None, execution_id=None, progressed=False)


async def commit_progress(store: Store, fence: Fence) -> None:
    async with store.connect() as tx:
        await commit_batch(tx, fence, Batch(), stage_id=None, execution_id=None)


async def test_running_time_is_summed_over_owners_and_counts_no_silence(clean_store: Store) -> None:
    fence = await add_running(clean_store)
    await age_claim(clean_store, "40 seconds", expired_for="0 seconds")
    second = await claim_one(clean_store)
    # Forty seconds ago it was claimed, and ten seconds later the lease of thirty was renewed for the last time.
    assert second.ran.total_seconds() == pytest.approx(10, abs=0.5)
    async with clean_store.connect() as tx:
        await tx.execute("UPDATE session_leases SET claimed_at = clock_timestamp() - interval '7 seconds'")
        assert await release_lease(tx, second.fence, planned=True)
    third = await claim_one(clean_store)
    assert third.ran.total_seconds() == pytest.approx(17, abs=0.5)
    await age_claim(clean_store, "5 seconds", expired_for="-30 seconds")
    await finish(clean_store, third.fence)
    async with clean_store.connect() as tx:
        assert await tx.fetchval("SELECT ran_ms FROM session_leases") == pytest.approx(22_000, abs=1_000)
    assert fence.epoch == 1


async def age_claim(store: Store, age: str, *, expired_for: str) -> None:
    async with store.connect() as tx:
        await tx.execute(
            f"UPDATE session_leases SET claimed_at = clock_timestamp() - interval '{age}', "
            f"expires_at = clock_timestamp() - interval '{expired_for}'"
        )


async def finish(store: Store, fence: Fence, status: SessionStatus = SessionStatus.COMPLETED) -> SessionStatus:
    async with store.begin() as tx:
        ended, _ = await finish_session(tx, fence, Ending(status=status))
    return ended


async def test_a_heartbeat_extends_the_lease_and_brings_back_a_cancellation(clean_store: Store) -> None:
    fence = await add_running(clean_store)
    async with clean_store.connect() as tx:
        assert await renew_lease(tx, fence, timedelta(hours=1)) == Renewal(status=SessionStatus.IN_PROGRESS)
        left = await tx.fetchval("SELECT expires_at - clock_timestamp() FROM session_leases")
        assert left > timedelta(minutes=59)
        await request_cancel(tx, fence.session_id)
        assert await renew_lease(tx, fence, LEASE) == Renewal(status=SessionStatus.CANCELLING)


async def test_a_heartbeat_learns_that_the_lease_is_lost_or_over(clean_store: Store) -> None:
    old = await add_running(clean_store)
    await expire_lease(clean_store, old.session_id)
    new = (await claim_one(clean_store)).fence
    async with clean_store.connect() as tx:
        assert await renew_lease(tx, old, LEASE) is None
        assert await release_lease(tx, old, planned=True) is False
    await finish(clean_store, new)
    async with clean_store.connect() as tx:
        assert await renew_lease(tx, new, LEASE) is None
        assert await release_lease(tx, new, planned=True) is False
    assert await claim_next(clean_store) is None


@pytest.mark.parametrize("planned", [True, False])
async def test_a_released_session_can_be_claimed_at_once(clean_store: Store, *, planned: bool) -> None:
    fence = await add_running(clean_store)
    async with clean_store.connect() as tx:
        assert await release_lease(tx, fence, planned=planned)
    claim = await claim_one(clean_store, cap=0)
    assert (claim.taken_over, claim.resumed) == (not planned, True)


Act = Callable[[Tx, Fence, NewExecution, UUID], Awaitable[object]]


async def finish_it(tx: Tx, fence: Fence, _: NewExecution, __: UUID) -> None:
    await finish_session(tx, fence, Ending(status=SessionStatus.COMPLETED))


async def commit_text(tx: Tx, fence: Fence, execution: NewExecution, _: UUID) -> None:
    batch = Batch()
    batch.add_text("from beyond")
    await commit_batch(tx, fence, batch, stage_id=execution.stage_id, execution_id=execution.execution_id)


async def tell_something(tx: Tx, fence: Fence, _: NewExecution, __: UUID) -> None:
    await tx.execute("UPDATE alert_sessions SET author = 'from beyond'")
    await pass_fence(tx, fence, ())


async def start_change(tx: Tx, fence: Fence, _: NewExecution, call_id: UUID) -> None:
    await start_call(tx, fence, call_id=call_id, verdict={}, targets=["pump"], within=timedelta(seconds=9))


@pytest.mark.parametrize("act", [finish_it, commit_text, tell_something, start_change])
async def test_who_lost_the_lease_can_write_nothing_any_more(act: Act, clean_store: Store) -> None:
    old = await add_running(clean_store)
    execution = await add_execution(clean_store, old)
    call = await request_call(clean_store, old, execution)
    await expire_lease(clean_store, old.session_id)
    await claim_one(clean_store)
    async with clean_store.connect() as tx:
        before = await read_everything(tx)
    with pytest.raises(LeaseLost):
        async with clean_store.begin() as tx:
            await act(tx, old, execution, call.call_id)
    async with clean_store.connect() as tx:
        assert await read_everything(tx) == before


async def test_a_session_ends_once(clean_store: Store) -> None:
    fence = await add_running(clean_store)
    assert await finish(clean_store, fence) is SessionStatus.COMPLETED
    with pytest.raises(LeaseLost):
        await finish(clean_store, fence, SessionStatus.FAILED)
    async with clean_store.connect() as tx:
        await check_session(tx, fence.session_id, [])


async def cancel(store: Store, session_id: UUID) -> CancelRequest | None:
    async with store.begin() as tx:
        return await request_cancel(tx, session_id)


async def test_a_pending_session_is_cancelled_at_once(clean_store: Store) -> None:
    session_id = await add_session(clean_store)
    request = await cancel(clean_store, session_id)
    assert request == CancelRequest(
        before=SessionStatus.PENDING, after=SessionStatus.CANCELLED, seq=2, alert_type="test"
    )
    assert await claim_next(clean_store) is None
    async with clean_store.connect() as tx:
        await check_session(tx, session_id, [])


async def test_a_running_session_is_told_to_stop_and_can_only_end_as_cancelled(clean_store: Store) -> None:
    fence = await add_running(clean_store)
    request = await cancel(clean_store, fence.session_id)
    assert request == CancelRequest(
        before=SessionStatus.IN_PROGRESS, after=SessionStatus.CANCELLING, seq=3, alert_type="test"
    )
    again = await cancel(clean_store, fence.session_id)
    assert again == CancelRequest(
        before=SessionStatus.CANCELLING, after=SessionStatus.CANCELLING, seq=None, alert_type="test"
    )
    assert await finish(clean_store, fence) is SessionStatus.CANCELLED
    late = await cancel(clean_store, fence.session_id)
    assert late == CancelRequest(
        before=SessionStatus.CANCELLED, after=SessionStatus.CANCELLED, seq=None, alert_type="test"
    )
    async with clean_store.connect() as tx:
        await check_session(tx, fence.session_id, [])


async def test_what_does_not_exist_cannot_be_cancelled(clean_store: Store) -> None:
    assert await cancel(clean_store, new_id()) is None


async def test_a_cancelled_session_whose_owner_died_is_taken_over_only_to_be_ended(
    clean_store: Store, tmp_path: Path
) -> None:
    async with open_world(clean_store, tmp_path / "effects", by_turn([])) as world:
        session_id = await world.submit()
        await world.live(CuttingPool(clean_store.pool, {3: Harm.DIE_AFTER}))
        assert (await cancel(clean_store, session_id)) is not None
        await world.expire()
        await world.live(CuttingPool(clean_store.pool))
        assert world.model.requests == []
    async with clean_store.connect() as tx:
        await check_session(tx, session_id, [])
        row = await tx.fetchrow("SELECT status, error_message FROM alert_sessions")
        events = await tx.fetch("SELECT payload FROM events WHERE type = 'session.status' ORDER BY seq")
    assert row is not None
    assert (row["status"], row["error_message"]) == ("cancelled", "cancelled by a person")
    told = [json.decode(event["payload"])["status"] for event in events]
    assert told == ["pending", "in_progress", "cancelling", "cancelled"]


async def test_a_cancellation_and_an_end_at_the_same_time_leave_one_of_them(clean_store: Store) -> None:
    for _ in range(8):
        fence = await add_running(clean_store)
        async with asyncio.TaskGroup() as group:
            group.create_task(cancel(clean_store, fence.session_id))
            ending = group.create_task(finish(clean_store, fence))
        assert ending.result() in (SessionStatus.COMPLETED, SessionStatus.CANCELLED)
        async with clean_store.connect() as tx:
            await check_session(tx, fence.session_id, [])


async def test_events_of_an_owner_and_of_a_person_share_one_sequence(clean_store: Store) -> None:
    fence = await add_running(clean_store)
    assert await commit_events(clean_store, fence, 2) == 4
    request = await cancel(clean_store, fence.session_id)
    assert request is not None
    assert request.seq == 5
    assert await commit_events(clean_store, fence) == 6
