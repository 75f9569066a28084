"""Why something waits, who has it in hand, and who is there: read from the rows, told in a sentence."""

from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

from midwatch.domain.session import RunKind, SessionStatus
from midwatch.queue.places import Standing, find_chat_standing, find_standing
from midwatch.queue.standing import explain_place, explain_queue
from midwatch.store.engine import Store
from midwatch.store.leases import claim_chat, claim_pending, release_lease, renew_lease, take_over
from midwatch.store.queues import QueueReading, read_queue
from midwatch.store.replicas import Presence, list_replicas, report_presence, withdraw_presence
from tests.db.test_chat_lives import add_ended, ask
from tests.stored import LEASE, add_running, add_session, claim_one, expire_lease

PRESENCE = Presence(owner="pod:1", pod_id="pod", version="1.0", journal_format=1, slots=2, chat_slots=1)


async def report(store: Store, presence: Presence = PRESENCE, *, lasts: timedelta = LEASE) -> None:
    async with store.connect() as tx:
        await report_presence(tx, presence, lasts=lasts)


async def look(store: Store, session_id: UUID, status: SessionStatus = SessionStatus.PENDING) -> Standing:
    async with store.connect() as tx:
        return await find_standing(tx, session_id, status=status)


async def look_at_chat(store: Store, session_id: UUID) -> Standing:
    async with store.connect() as tx:
        return await find_chat_standing(tx, session_id)


async def look_around(store: Store) -> QueueReading:
    async with store.connect() as tx:
        return await read_queue(tx)


def reason(standing: Standing, *, cap: int = 5) -> str:
    assert standing.waiting is not None
    return explain_place(standing.waiting.queue, standing.waiting.place, cap=cap)


async def test_a_session_waits_because_nobody_is_alive(clean_store: Store) -> None:
    session_id = await add_session(clean_store)
    await report(clean_store, lasts=timedelta(0))
    assert reason(await look(clean_store, session_id)) == "no replica is alive"
    queue = await look_around(clean_store)
    assert (queue.replicas, queue.alerts.waiting, explain_queue(queue, cap=5)) == ((), 1, "no replica is alive")
    assert queue.alerts.oldest is not None
    assert queue.alerts.oldest >= timedelta(0)


async def test_a_session_waits_because_all_who_are_alive_are_leaving(clean_store: Store) -> None:
    session_id = await add_session(clean_store)
    await report(clean_store)
    await report(clean_store, replace(PRESENCE, is_draining=True))
    assert reason(await look(clean_store, session_id)) == "the replica is draining"
    await report(clean_store, replace(PRESENCE, owner="other:1", pod_id="other", is_draining=True))
    assert reason(await look(clean_store, session_id)) == "all replicas are draining"
    await report(clean_store, replace(PRESENCE, owner="third:1", pod_id="third"))
    assert reason(await look(clean_store, session_id)) == "2 of 2 slots are free, and this one is next"


async def test_a_session_waits_behind_others_because_all_slots_are_taken(clean_store: Store) -> None:
    await report(clean_store)
    for _ in range(2):
        await add_running(clean_store)
    waiting = [await add_session(clean_store) for _ in range(4)]
    told = [await look(clean_store, session_id) for session_id in waiting]
    assert [reason(standing) for standing in told] == [
        "all 2 slots are taken, and this one is next",
        "all 2 slots are taken, one session is before this one",
        "all 2 slots are taken, 2 sessions are before this one",
        "all 2 slots are taken, 3 sessions are before this one",
    ]
    assert [standing.waiting and standing.waiting.place.position for standing in told] == [1, 2, 3, 4]
    assert all(standing.lease is None for standing in told)
    assert reason(told[0], cap=1) == "the one slot is taken, and this one is next"
    assert explain_queue(await look_around(clean_store), cap=5) == "all 2 slots are taken"


async def test_nothing_waits_for_a_reason_when_nothing_waits(clean_store: Store) -> None:
    await report(clean_store)
    fence = await add_running(clean_store)
    queue = await look_around(clean_store)
    assert (queue.alerts.running, queue.alerts.waiting, queue.alerts.oldest) == (1, 0, None)
    assert explain_queue(queue, cap=5) is None
    assert await look(clean_store, fence.session_id, SessionStatus.COMPLETED) == Standing()


async def test_a_running_session_tells_who_has_it_and_when_that_one_was_last_heard(clean_store: Store) -> None:
    fence = await add_running(clean_store)
    standing = await look(clean_store, fence.session_id, SessionStatus.IN_PROGRESS)
    lease = standing.lease
    assert lease is not None
    assert standing.waiting is None
    assert (lease.kind, lease.owner, lease.pod_id) == (RunKind.ALERT, "pod:1", "pod")
    assert (lease.epoch, lease.attempts) == (1, 0)
    assert lease.renewed_at == lease.claimed_at
    async with clean_store.connect() as tx:
        await renew_lease(tx, fence, LEASE)
    renewed = (await look(clean_store, fence.session_id, SessionStatus.IN_PROGRESS)).lease
    assert renewed is not None
    assert renewed.renewed_at > lease.renewed_at
    assert renewed.expires_at > lease.expires_at
    assert renewed.silence >= timedelta(0)
    assert not renewed.is_expired


async def test_a_session_whose_replica_is_gone_tells_so_and_counts_who_is_taken_over_before_it(
    clean_store: Store,
) -> None:
    await report(clean_store, replace(PRESENCE, owner="other:1", pod_id="other"))
    first, second = await add_running(clean_store), await add_running(clean_store)
    for fence in (first, second):
        await expire_lease(clean_store, fence.session_id)
    standing = await look(clean_store, second.session_id, SessionStatus.IN_PROGRESS)
    told = "replica pod is gone, and another takes over within seconds; one session is before this one"
    assert reason(standing) == told
    assert standing.lease is not None
    assert standing.lease.is_expired
    queue = await look_around(clean_store)
    assert (queue.alerts.running, queue.alerts.left_behind) == (0, 2)
    again = await claim_one(clean_store)
    taken = (await look(clean_store, again.fence.session_id, SessionStatus.IN_PROGRESS)).lease
    assert taken is not None
    assert (again.fence.session_id, taken.attempts, taken.epoch) == (first.session_id, 1, 2)


async def test_a_session_that_was_handed_over_says_that(clean_store: Store) -> None:
    await report(clean_store, replace(PRESENCE, owner="other:1", pod_id="other"))
    fence = await add_running(clean_store)
    async with clean_store.connect() as tx:
        await release_lease(tx, fence, planned=True)
    standing = await look(clean_store, fence.session_id, SessionStatus.IN_PROGRESS)
    assert reason(standing).startswith("replica pod has handed it over")


async def test_a_question_waits_for_slots_of_its_own(clean_store: Store) -> None:
    await report(clean_store)
    sessions = [await add_ended(clean_store) for _ in range(3)]
    for session_id in sessions:
        await ask(clean_store, session_id)
    assert reason(await look_at_chat(clean_store, sessions[0])) == "1 of 1 slots are free, and this one is next"
    async with clean_store.connect() as tx:
        await claim_chat(tx, owner="pod:1", pod_id="pod", lease=LEASE)
    first, _, last = [await look_at_chat(clean_store, session_id) for session_id in sessions]
    assert first.lease is not None
    assert (first.waiting, first.lease.kind, first.lease.pod_id) == (None, RunKind.CHAT, "pod")
    assert reason(last) == "the one slot is taken, one question is before this one"
    assert last.lease is None
    queue = await look_around(clean_store)
    assert (queue.chats.waiting, queue.chats.running, queue.chats.left_behind) == (2, 1, 0)
    assert queue.chats.oldest is not None
    assert (queue.alerts.waiting, queue.alerts.running) == (0, 0)
    assert await look_at_chat(clean_store, await add_ended(clean_store)) == Standing()


async def test_replicas_are_listed_with_what_they_hold_until_they_leave(clean_store: Store) -> None:
    await report(clean_store)
    await report(clean_store, replace(PRESENCE, owner="gone:1", pod_id="gone"), lasts=timedelta(0))
    await add_running(clean_store)
    await ask(clean_store, await add_ended(clean_store))
    async with clean_store.connect() as tx:
        await claim_chat(tx, owner="pod:1", pod_id="pod", lease=LEASE)
        (replica,) = await list_replicas(tx)
        assert (replica.pod_id, replica.busy_slots, replica.busy_chat_slots) == ("pod", 1, 1)
        await withdraw_presence(tx, "pod:1")
        assert await list_replicas(tx) == ()


async def test_a_replica_leaves_alone_what_a_newer_one_has_had_in_hand(clean_store: Store) -> None:
    """An older version could not read what the newer one wrote."""
    older: dict[str, Any] = {"owner": "old:1", "pod_id": "old", "lease": LEASE, "journal_format": 1}
    newer: dict[str, Any] = {"owner": "new:1", "pod_id": "new", "lease": LEASE, "journal_format": 2}
    await add_session(clean_store)
    async with clean_store.connect() as tx:
        claim = await claim_pending(tx, **newer, cap=5)
        assert claim is not None
        session_id = claim.fence.session_id
        await expire_lease(clean_store, session_id)
        assert await take_over(tx, **older) is None
        await report_presence(tx, replace(PRESENCE, owner="old:1", pod_id="old"), lasts=LEASE)
        standing = await find_standing(tx, session_id, status=SessionStatus.IN_PROGRESS)
        assert reason(standing) == "a newer version has had it in hand, and no replica of that version is alive"
        await tx.execute("UPDATE alert_sessions SET status = 'pending'")
        await tx.execute("UPDATE session_leases SET expires_at = NULL, owner = NULL")
        assert await claim_pending(tx, **older, cap=5) is None
        again = await claim_pending(tx, **newer, cap=5)
        assert again is not None
        assert again.fence.session_id == session_id


async def test_a_newer_replica_goes_on_with_what_an_older_one_began(clean_store: Store) -> None:
    fence = await add_running(clean_store)
    await expire_lease(clean_store, fence.session_id)
    async with clean_store.connect() as tx:
        claim = await take_over(tx, owner="new:1", pod_id="new", lease=LEASE, journal_format=2)
    assert claim is not None
    assert claim.fence.session_id == fence.session_id


async def test_a_question_about_what_a_newer_replica_ran_is_left_to_one(clean_store: Store) -> None:
    session_id = await add_ended(clean_store)
    async with clean_store.connect() as tx:
        await tx.execute("UPDATE session_leases SET journal_format = 2")
    await ask(clean_store, session_id)
    async with clean_store.connect() as tx:
        assert await claim_chat(tx, owner="old:1", pod_id="old", lease=LEASE) is None
        claim = await claim_chat(tx, owner="new:1", pod_id="new", lease=LEASE, journal_format=2)
    assert claim is not None
