"""Decisions that come while a run parks, stops that come while a change starts: whoever is first, nothing is lost."""

import asyncio
from datetime import timedelta
from uuid import UUID

import pytest

from midwatch.domain.tools import CallState
from midwatch.intake.stop_changes import StopOrder, allow_changes, stop_changes
from midwatch.kit.ids import new_id
from midwatch.store.calls import NotStarted, Start, Yes, read_call_state, start_call
from midwatch.store.engine import Store
from midwatch.store.fence import Fence
from midwatch.store.parking import Parking, Rest, park_session
from midwatch.timeline.flush import Flusher
from tests.asking import list_records, read_lease, say
from tests.safety.requirements import requirement
from tests.stored import add_execution, add_question, add_running, claim_one, request_call

ROUNDS = 40


async def park(store: Store, fence: Fence) -> Parking:
    async with store.begin() as tx:
        return await park_session(tx, fence)


async def ask(store: Store, fence: Fence) -> UUID:
    return await add_question(store, fence, await add_execution(store, fence))


async def find_call(store: Store, approval_id: UUID) -> tuple[UUID, bytes]:
    async with store.connect() as tx:
        row = await tx.fetchrow("SELECT call_id, digest FROM approvals WHERE approval_id = $1", approval_id)
    assert row is not None
    return row["call_id"], row["digest"]


async def start(store: Store, fence: Fence, call_id: UUID, *, yes: Yes | None = None, target: str = "") -> Start:
    async with store.begin() as tx:
        try:
            await start_call(
                tx,
                fence,
                call_id=call_id,
                verdict={"kind": "write"},
                targets=[target or str(call_id)],
                within=timedelta(seconds=60),
                yes=yes,
            )
        except NotStarted as refused:
            # The transaction must go with it, as it does in a run.
            await tx.execute("ROLLBACK AND CHAIN")
            return refused.why
    return Start.STARTED


@requirement("parking:no-lost-decision")
async def test_a_decision_before_parking_keeps_the_run_going(store: Store) -> None:
    fence = await add_running(store)
    approval_id = await ask(store, fence)
    await say(store, approval_id, yes=True)
    assert (await park(store, fence)).rest is Rest.GO_ON
    assert (await read_lease(store, fence.session_id))["parked"] is False


@requirement("parking:no-lost-decision")
async def test_a_decision_after_parking_wakes_the_run(store: Store) -> None:
    fence = await add_running(store)
    approval_id = await ask(store, fence)
    assert (await park(store, fence)).rest is Rest.PARKED
    await say(store, approval_id, yes=False)
    lease = await read_lease(store, fence.session_id)
    assert (lease["status"], lease["waiting_for"], lease["parked"]) == ("pending", None, False)
    claim = await claim_one(store)
    assert (claim.resumed, claim.taken_over, claim.attempts) == (True, False, 0)


async def forget(store: Store, fence: Fence) -> None:
    """Nobody is to take it up."""
    async with store.connect() as tx:
        await tx.execute("UPDATE alert_sessions SET status = 'completed' WHERE session_id = $1", fence.session_id)


@requirement("parking:no-lost-decision")
async def test_whoever_is_first_a_decided_run_is_never_left_parked(store: Store) -> None:
    outcomes: set[tuple[Rest, str]] = set()
    for _ in range(ROUNDS):
        fence = await add_running(store)
        approval_id = await ask(store, fence)
        async with asyncio.TaskGroup() as group:
            parking = group.create_task(park(store, fence))
            group.create_task(say(store, approval_id, yes=True))
        lease = await read_lease(store, fence.session_id)
        assert lease["parked"] is False
        outcomes.add((parking.result().rest, lease["status"]))
        await forget(store, fence)
    assert outcomes <= {(Rest.GO_ON, "in_progress"), (Rest.PARKED, "pending")}


async def test_of_many_who_decide_at_once_one_is_heard(store: Store) -> None:
    fence = await add_running(store)
    approval_id = await ask(store, fence)

    async def attempt(number: int) -> bool:
        try:
            await say(store, approval_id, yes=number % 2 == 0, by=f"person {number}")
        except Exception:  # noqa: BLE001 -- counted below
            return False
        return True

    async with asyncio.TaskGroup() as group:
        attempts = [group.create_task(attempt(number)) for number in range(6)]
    assert sum(task.result() for task in attempts) == 1
    assert len(await list_records(store, fence.session_id)) == 1


@requirement("parking:no-lease")
async def test_a_run_with_something_to_do_is_not_parked(store: Store) -> None:
    fence = await add_running(store)
    execution = await add_execution(store, fence)
    assert (await park(store, fence)).rest is Rest.GO_ON
    call = await request_call(store, fence, execution)
    assert await start(store, fence, call.call_id) is Start.STARTED
    assert (await park(store, fence)).rest is Rest.GO_ON


@requirement("approval:single-use")
async def test_a_yes_starts_its_own_call_and_no_other(store: Store) -> None:
    fence = await add_running(store)
    approval_id = await ask(store, fence)
    await say(store, approval_id, yes=True)
    call_id, digest = await find_call(store, approval_id)
    other = await add_running(store)
    foreign = await request_call(store, other, await add_execution(store, other))
    stolen = Yes(approval_id=approval_id, digest=digest)
    assert await start(store, other, foreign.call_id, yes=stolen) is Start.APPROVAL_SPENT
    forged = Yes(approval_id=new_id(), digest=digest)
    assert await start(store, fence, call_id, yes=forged) is Start.APPROVAL_SPENT
    changed = Yes(approval_id=approval_id, digest=b"something else")
    assert await start(store, fence, call_id, yes=changed) is Start.APPROVAL_SPENT
    async with store.connect() as tx:
        assert await read_call_state(tx, fence.session_id, call_id) is CallState.WAITING_APPROVAL
    assert await start(store, fence, call_id, yes=stolen) is Start.STARTED
    assert [record[0] for record in await list_records(store, fence.session_id)] == ["approved", "consumed"]


@requirement("approval:single-use")
@pytest.mark.parametrize("answer", [None, False])
async def test_without_a_yes_nothing_is_started(store: Store, answer: bool | None) -> None:  # noqa: FBT001 -- a case
    fence = await add_running(store)
    approval_id = await ask(store, fence)
    if answer is not None:
        await say(store, approval_id, yes=answer)
    call_id, digest = await find_call(store, approval_id)
    yes = Yes(approval_id=approval_id, digest=digest)
    assert await start(store, fence, call_id, yes=yes) is Start.APPROVAL_SPENT


async def test_a_start_whose_answer_was_lost_uses_its_yes_once(store: Store) -> None:
    fence = await add_running(store)
    approval_id = await ask(store, fence)
    await say(store, approval_id, yes=True)
    call_id, digest = await find_call(store, approval_id)
    yes = Yes(approval_id=approval_id, digest=digest)
    assert await start(store, fence, call_id, yes=yes) is Start.STARTED
    assert await start(store, fence, call_id, yes=yes) is Start.STARTED
    assert [record[0] for record in await list_records(store, fence.session_id)] == ["approved", "consumed"]


@requirement("approval:on-record")
@pytest.mark.parametrize(
    "rewriting",
    [
        "UPDATE approval_decisions SET decided_by = 'nobody'",
        "DELETE FROM approval_decisions",
        "TRUNCATE approval_decisions",
    ],
)
async def test_what_was_decided_cannot_be_rewritten(store: Store, rewriting: str) -> None:
    fence = await add_running(store)
    await say(store, await ask(store, fence), yes=True)
    async with store.connect() as tx:
        with pytest.raises(Exception, match="only added to"):
            await tx.execute(rewriting)
    assert len(await list_records(store, fence.session_id)) == 1


@requirement("stop:no-change")
async def test_no_change_is_started_while_everything_is_stopped(store: Store) -> None:
    fence = await add_running(store)
    call = await request_call(store, fence, await add_execution(store, fence))
    await stop_changes(store, Flusher(store), StopOrder(by="ada", reason="wrong pumps"))
    assert await start(store, fence, call.call_id) is Start.STOPPED
    await allow_changes(store, Flusher(store), StopOrder(by="ada"))
    assert await start(store, fence, call.call_id) is Start.STARTED


@requirement("stop:no-change")
async def test_a_stop_uses_up_no_yes(store: Store) -> None:
    fence = await add_running(store)
    approval_id = await ask(store, fence)
    await say(store, approval_id, yes=True)
    call_id, digest = await find_call(store, approval_id)
    yes = Yes(approval_id=approval_id, digest=digest)
    await stop_changes(store, Flusher(store), StopOrder(by="ada", reason="wrong pumps"))
    assert await start(store, fence, call_id, yes=yes) is Start.STOPPED
    assert [record[0] for record in await list_records(store, fence.session_id)] == ["approved"]


@requirement("stop:no-gap")
async def test_a_change_sees_the_stop_or_is_seen_by_it(store: Store) -> None:
    outcomes: set[Start] = set()
    for _ in range(ROUNDS):
        fence = await add_running(store)
        call = await request_call(store, fence, await add_execution(store, fence))
        async with asyncio.TaskGroup() as group:
            starting = group.create_task(start(store, fence, call.call_id))
            stopping = group.create_task(stop_changes(store, Flusher(store), StopOrder(by="ada", reason="wrong pumps")))
        given_up = {call_id for _, call_id in stopping.result().calls}
        assert (starting.result() is Start.STARTED) == (call.call_id in given_up)
        outcomes.add(starting.result())
        await allow_changes(store, Flusher(store), StopOrder(by="ada"))
    assert outcomes <= {Start.STARTED, Start.STOPPED}


@requirement("stop:no-gap")
async def test_whoever_runs_a_change_is_told_to_give_it_up(store: Store) -> None:
    fence = await add_running(store)
    call = await request_call(store, fence, await add_execution(store, fence))
    await start(store, fence, call.call_id)
    declared = await stop_changes(store, Flusher(store), StopOrder(by="ada", reason="wrong pumps"))
    assert declared.calls == ((fence.session_id, call.call_id),)
    async with store.connect() as tx:
        wanted = await tx.fetchval("SELECT target_id FROM cancel_requests WHERE session_id = $1", fence.session_id)
    assert wanted == call.call_id
