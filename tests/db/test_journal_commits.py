"""The fence and the journal's commit: all or nothing, numbered without gaps, in the order they are committed."""

import asyncio
from uuid import UUID

import pytest

from midwatch.domain.messages import AssistantMessage, Role
from midwatch.domain.timeline import EventType, TimelineStatus, TimelineType
from midwatch.kit import json
from midwatch.kit.ids import new_id
from midwatch.store.driver import Tx
from midwatch.store.engine import Store
from midwatch.store.feed import read_events
from midwatch.store.fence import Event, Fence, pass_fence
from midwatch.store.journal import AlreadyCommitted, Batch, StoredMessage, TimelineEvent, commit_batch
from midwatch.store.runs import NewExecution, load_conversation
from tests.stored import add_execution, add_running, add_session, claim_one, read_everything

POISON = "nul \x00 half \ud83d end"
CLEANED = "nul � half � end"


async def commit(tx: Tx, fence: Fence, batch: Batch, execution: NewExecution | None = None) -> int:
    return await commit_batch(
        tx,
        fence,
        batch,
        stage_id=execution and execution.stage_id,
        execution_id=execution and execution.execution_id,
    )


def speak(text: str, *, sequence: int = 0) -> Batch:
    """A message with its entry in the timeline, both of one text."""
    batch = Batch()
    text_id, event_id = batch.add_text(text), new_id()
    batch.messages.append(
        StoredMessage(message_id=new_id(), sequence_number=sequence, role=Role.ASSISTANT, text_id=text_id)
    )
    told = batch.tell(EventType.TIMELINE_CREATED, event_id)
    batch.timeline.append(
        TimelineEvent(
            event_id=event_id,
            event_type=TimelineType.LLM_RESPONSE,
            status=TimelineStatus.COMPLETED,
            text_id=text_id,
            told=told,
            metadata={"said": text},
        )
    )
    return batch


async def test_a_batch_that_is_committed_again_is_found_to_be_there(clean_store: Store) -> None:
    fence = await add_running(clean_store)
    execution = await add_execution(clean_store, fence)
    batch = speak("once")
    async with clean_store.connect() as tx:
        await commit(tx, fence, batch, execution)
        before = await read_everything(tx)
        with pytest.raises(AlreadyCommitted):
            await commit(tx, fence, batch, execution)
        assert await read_everything(tx) == before


async def test_a_batch_of_which_one_row_cannot_be_written_leaves_nothing_behind(clean_store: Store) -> None:
    fence = await add_running(clean_store)
    execution = await add_execution(clean_store, fence)
    async with clean_store.connect() as tx:
        await commit(tx, fence, speak("the place is taken", sequence=7), execution)
        before = await read_everything(tx)
        with pytest.raises(AlreadyCommitted):
            await commit(tx, fence, speak("too late", sequence=7), execution)
        assert await read_everything(tx) == before


async def test_a_text_is_stored_once_and_read_wherever_it_is_referenced(clean_store: Store) -> None:
    fence = await add_running(clean_store)
    execution = await add_execution(clean_store, fence)
    async with clean_store.connect() as tx:
        await commit(tx, fence, speak("once"), execution)
        assert await tx.fetchval("SELECT count(*) FROM texts") == 1
        (told,) = [e for e in await read_events(tx, {fence.session_id: 0}, limit=99) if e["ref"] is not None]
        conversation = await load_conversation(tx, fence.session_id, execution.execution_id)
    assert told["content"] == "once"
    assert conversation.messages == (AssistantMessage(text="once"),)


async def test_poisoned_text_is_stored_with_replacements(clean_store: Store) -> None:
    session_id = await add_session(clean_store, POISON)
    fence = await add_running(clean_store)
    assert fence.session_id == session_id
    execution = await add_execution(clean_store, fence)
    async with clean_store.connect() as tx:
        await commit(tx, fence, speak(POISON), execution)
        await pass_fence(tx, fence, [Event(type=EventType.SESSION_STATUS, payload={POISON: POISON})])
        assert await tx.fetchval("SELECT alert_data FROM alert_sessions WHERE session_id = $1", session_id) == CLEANED
        assert await tx.fetchval("SELECT content FROM texts") == CLEANED
        metadata = await tx.fetchval("SELECT metadata FROM timeline_events")
        payload = await tx.fetchval("SELECT payload FROM events ORDER BY seq DESC LIMIT 1")
    assert json.decode(metadata) == {"said": CLEANED}
    assert json.decode(payload) == {CLEANED: CLEANED}


async def test_twenty_writers_of_one_session_leave_no_gap_and_no_double(clean_store: Store) -> None:
    fence = await add_running(clean_store)

    async def write(number: int) -> list[int]:
        async with clean_store.connect() as tx:
            events = [Event(type=EventType.SESSION_STATUS, payload={"writer": number})] * (number % 3)
            batch = Batch(events=events)
            return [await commit(tx, fence, batch) for _ in range(5)]

    async with asyncio.TaskGroup() as group:
        writers = [group.create_task(write(number)) for number in range(20)]
    async with clean_store.connect() as tx:
        rows = await tx.fetch("SELECT seq, payload FROM events WHERE session_id = $1 ORDER BY seq", fence.session_id)
    expected = 2 + sum(5 * (number % 3) for number in range(20))
    assert [row["seq"] for row in rows] == list(range(1, expected + 1))
    for number, writer in enumerate(writers):
        own = [row["seq"] for row in rows if json.decode(row["payload"]).get("writer") == number]
        if number % 3:
            assert writer.result() == own[number % 3 - 1 :: number % 3]


async def test_a_reader_after_any_number_never_skips_an_event_that_commits_late(clean_store: Store) -> None:
    fence = await add_running(clean_store)
    event = Event(type=EventType.SESSION_STATUS, payload={})
    async with clean_store.connect() as reader, asyncio.TaskGroup() as group:
        async with clean_store.begin() as slow:
            assert await pass_fence(slow, fence, [event]) == 3
            fast = group.create_task(commit_in_transaction(clean_store, fence, event))
            await wait_until_blocked(reader)
            assert await read_numbers(reader, fence.session_id, after=2) == []
            assert not fast.done()
        assert await fast == 4
        assert await read_numbers(reader, fence.session_id, after=2) == [3, 4]


async def commit_in_transaction(store: Store, fence: Fence, event: Event) -> int:
    async with store.begin() as tx:
        return await pass_fence(tx, fence, [event])


async def wait_until_blocked(tx: Tx) -> None:
    async with asyncio.timeout(60):
        while not await tx.fetchval("SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)"):
            pass


async def read_numbers(tx: Tx, session_id: UUID, *, after: int) -> list[int]:
    return [row["seq"] for row in await read_events(tx, {session_id: after}, limit=99)]


async def test_a_takeover_waits_for_a_half_done_commit_of_the_old_owner(clean_store: Store) -> None:
    fence = await add_running(clean_store)
    async with clean_store.connect() as watcher, asyncio.TaskGroup() as group:
        async with clean_store.begin() as tx:
            await pass_fence(tx, fence, [Event(type=EventType.SESSION_STATUS, payload={})])
            await watcher.execute("UPDATE session_leases SET expires_at = clock_timestamp()")
            taking = group.create_task(claim_anything(clean_store))
            await wait_until_blocked(watcher)
        assert await taking == (2, 3)


async def claim_anything(store: Store) -> tuple[int, int]:
    claim = await claim_one(store)
    return claim.fence.epoch, claim.feed_seq
