"""Starting a change: one hand on one thing, across all sessions, and none at all while everything is stopped."""

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

import pytest

from midwatch.domain.errors import LeaseLost
from midwatch.domain.tools import CallState
from midwatch.kit import json
from midwatch.kit.ids import new_id
from midwatch.store.calls import NotStarted, Start, start_call
from midwatch.store.engine import Store
from midwatch.store.fence import Fence
from midwatch.store.journal import Batch, SettledCall, commit_batch
from tests.stored import add_execution, add_running, claim_one, expire_lease, read_everything, request_call

WITHIN = timedelta(seconds=90)


async def start(store: Store, fence: Fence, call_id: UUID, targets: Sequence[str] = ("pump",)) -> int:
    async with store.begin() as tx:
        return await start_call(tx, fence, call_id=call_id, verdict={"rule": "test"}, targets=targets, within=WITHIN)


async def request(store: Store) -> tuple[Fence, UUID]:
    fence = await add_running(store)
    execution = await add_execution(store, fence)
    return fence, (await request_call(store, fence, execution)).call_id


async def settle(store: Store, fence: Fence, call_id: UUID, state: CallState) -> None:
    batch = Batch()
    batch.settled.append(SettledCall(call_id=call_id, state=state, result_text_id=None, error_code=None, verdict=None))
    async with store.connect() as tx:
        await commit_batch(tx, fence, batch, stage_id=None, execution_id=None)


async def assert_refused(store: Store, fence: Fence, call_id: UUID, why: Start, targets: Sequence[str]) -> None:
    async with store.connect() as tx:
        before = await read_everything(tx)
    with pytest.raises(NotStarted) as refused:
        await start(store, fence, call_id, targets)
    assert refused.value.why is why
    async with store.connect() as tx:
        assert await read_everything(tx) == before


async def test_a_started_call_is_journalled_with_its_verdict_targets_and_deadline(clean_store: Store) -> None:
    fence, call_id = await request(clean_store)
    await start(clean_store, fence, call_id, ["pump", "valve", "pump"])
    async with clean_store.connect() as tx:
        call = await tx.fetchrow("SELECT *, deadline - clock_timestamp() AS left FROM tool_calls")
        changes = await tx.fetch("SELECT target, session_id, call_id, epoch FROM open_changes ORDER BY target")
    assert call is not None
    assert (call["state"], call["epoch"], json.decode(call["verdict"])) == ("started", 1, {"rule": "test"})
    assert timedelta(seconds=80) < call["left"] <= WITHIN
    assert [tuple(row) for row in changes] == [
        ("pump", fence.session_id, call_id, 1),
        ("valve", fence.session_id, call_id, 1),
    ]


async def test_a_target_under_change_is_refused_to_every_other_call(clean_store: Store) -> None:
    fence, call_id = await request(clean_store)
    await start(clean_store, fence, call_id, ["valve", "pump"])
    other, other_call = await request(clean_store)
    await assert_refused(clean_store, other, other_call, Start.TARGET_BUSY, ["boiler", "pump"])
    await settle(clean_store, fence, call_id, CallState.FINISHED)
    await start(clean_store, other, other_call, ["boiler", "pump"])


async def test_a_target_with_an_unknown_outcome_is_free_once_its_deadline_has_passed(clean_store: Store) -> None:
    fence, call_id = await request(clean_store)
    await start(clean_store, fence, call_id)
    await settle(clean_store, fence, call_id, CallState.UNKNOWN)
    other, other_call = await request(clean_store)
    await assert_refused(clean_store, other, other_call, Start.TARGET_BUSY, ["pump"])
    async with clean_store.connect() as tx:
        await tx.execute("UPDATE open_changes SET deadline = clock_timestamp()")
    await start(clean_store, other, other_call)
    async with clean_store.connect() as tx:
        assert await tx.fetchval("SELECT call_id FROM open_changes") == other_call


async def test_nothing_starts_during_an_emergency_stop(clean_store: Store) -> None:
    fence, call_id = await request(clean_store)
    async with clean_store.connect() as tx:
        await tx.execute("INSERT INTO emergency_stops (stop_id, reason) VALUES ($1, 'fire')", new_id())
    await assert_refused(clean_store, fence, call_id, Start.STOPPED, ["pump"])
    await assert_refused(clean_store, fence, call_id, Start.STOPPED, [])
    async with clean_store.connect() as tx:
        await tx.execute("UPDATE emergency_stops SET lifted_at = clock_timestamp()")
    await start(clean_store, fence, call_id)


async def test_starting_again_after_a_lost_answer_is_the_same_start(clean_store: Store) -> None:
    fence, call_id = await request(clean_store)
    assert await start(clean_store, fence, call_id) == await start(clean_store, fence, call_id)
    async with clean_store.connect() as tx:
        assert await tx.fetchval("SELECT count(*) FROM open_changes") == 1


@pytest.mark.parametrize("state", [CallState.FINISHED, CallState.REFUSED, CallState.UNKNOWN])
async def test_a_call_that_is_over_is_never_started_again(state: CallState, clean_store: Store) -> None:
    fence, call_id = await request(clean_store)
    await settle(clean_store, fence, call_id, state)
    with pytest.raises(LeaseLost):
        await start(clean_store, fence, call_id)


async def test_a_call_that_a_dead_owner_had_started_is_not_started_by_the_next(clean_store: Store) -> None:
    fence, call_id = await request(clean_store)
    await start(clean_store, fence, call_id)
    await expire_lease(clean_store, fence.session_id)
    heir = (await claim_one(clean_store)).fence
    with pytest.raises(LeaseLost):
        await start(clean_store, heir, call_id)
