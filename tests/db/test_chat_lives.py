"""Questions in the store: claimed once, resumed after any commit, ended once, and never in each other's way."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest

from midwatch.config.chains import Chat
from midwatch.domain.errors import LeaseLost
from midwatch.domain.session import SessionStatus, WorkStatus
from midwatch.kit import json
from midwatch.kit.ids import new_id
from midwatch.llm.scripted import ScriptedCall, ScriptedTurn
from midwatch.store.cancels import add_cancel_request
from midwatch.store.chats import (
    AnswerEnding,
    NewQuestion,
    begin_answer,
    finish_answer,
    insert_question,
    list_questions,
    read_question,
    request_chat_cancel,
)
from midwatch.store.engine import Store
from midwatch.store.leases import Claim, Renewal, claim_chat, release_lease, renew_lease
from midwatch.store.readings import read_session
from midwatch.store.sessions import Ending, finish_session
from tests.fakes.cutting_pool import CuttingPool, Harm
from tests.fakes.openai_server import Body, Reply, count_turns
from tests.invariants import check_conversations, check_timeline
from tests.lives import World, open_world
from tests.stored import LEASE, add_running, claim_next, expire_lease

QUESTION = "Why was it hot?"
TURNS = (
    ScriptedTurn(
        thinking="I look.",
        text="I look and act.",
        calls=(
            ScriptedCall(name="deck.echo", arguments={"text": "dry"}),
            ScriptedCall(name="deck.restart", arguments={"name": "pump"}),
            ScriptedCall(name="deck.echo", arguments={"text": "wet"}),
        ),
    ),
    ScriptedTurn(text="Because it ran dry."),
)


async def add_ended(store: Store, status: SessionStatus = SessionStatus.COMPLETED) -> UUID:
    fence = await add_running(store)
    async with store.begin() as tx:
        await finish_session(tx, fence, Ending(status=status))
    return fence.session_id


async def ask(
    store: Store,
    session_id: UUID,
    content: str = QUESTION,
    *,
    is_authenticated: bool = False,
    selected: Sequence[str] = (),
) -> UUID | None:
    """The stage of the question, if it was taken."""
    question = NewQuestion(
        session_id=session_id,
        chat_id=new_id(),
        message_id=new_id(),
        stage_id=new_id(),
        event_id=new_id(),
        text_id=new_id(),
        content=content,
        author="ada",
        is_authenticated=is_authenticated,
        selected_resources=selected,
    )
    async with store.begin() as tx:
        return question.stage_id if await insert_question(tx, question) else None


async def claim(store: Store, owner: str = "pod:1") -> Claim | None:
    async with store.connect() as tx:
        return await claim_chat(tx, owner=owner, pod_id="pod", lease=LEASE)


async def claimed(store: Store, owner: str = "pod:1") -> Claim:
    found = await claim(store, owner)
    assert found is not None
    return found


async def finish(store: Store, held: Claim, status: WorkStatus = WorkStatus.COMPLETED) -> WorkStatus:
    assert held.chat_stage_id is not None
    async with store.begin() as tx:
        question = await read_question(tx, held.fence.session_id, held.chat_stage_id)
        ended, _ = await finish_answer(tx, held.fence, question, AnswerEnding(status=status))
    return ended


async def test_questions_are_claimed_in_the_order_they_were_asked_and_each_by_one(clean_store: Store) -> None:
    sessions = [await add_ended(clean_store) for _ in range(3)]
    stages = [await ask(clean_store, session_id) for session_id in sessions]
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        tasks = [group.create_task(claim(clean_store, f"pod:{n}")) for n in range(8)]
    claims = [found for task in tasks if (found := task.result()) is not None]
    assert sorted(map(str, (found.chat_stage_id for found in claims))) == sorted(map(str, stages))
    assert [found.resumed for found in claims] == [False] * 3
    assert [found.attempts for found in claims] == [0] * 3
    assert all(found.ran.total_seconds() == 0 for found in claims)


async def test_whoever_looks_for_alerts_finds_no_questions_and_the_other_way_round(clean_store: Store) -> None:
    session_id = await add_ended(clean_store)
    await ask(clean_store, session_id)
    assert await claim_next(clean_store) is None
    assert (await claimed(clean_store)).fence.session_id == session_id
    await expire_lease(clean_store, session_id)
    assert await claim_next(clean_store) is None
    held = await add_running(clean_store)
    await expire_lease(clean_store, held.session_id)
    assert (await claimed(clean_store)).fence.session_id == session_id
    assert await claim(clean_store) is None


async def test_a_question_whose_owner_went_away_is_taken_over_and_the_old_owner_can_write_nothing(
    clean_store: Store,
) -> None:
    session_id = await add_ended(clean_store)
    stage_id = await ask(clean_store, session_id)
    old = await claimed(clean_store)
    await expire_lease(clean_store, session_id)
    new = await claimed(clean_store, "pod:2")
    assert (new.taken_over, new.resumed, new.attempts, new.chat_stage_id) == (True, True, 1, stage_id)
    assert new.fence.epoch > old.fence.epoch
    with pytest.raises(LeaseLost):
        await finish(clean_store, old)
    assert await ask(clean_store, session_id) is None
    assert await finish(clean_store, new) is WorkStatus.COMPLETED
    with pytest.raises(LeaseLost):
        await finish(clean_store, new)
    assert await ask(clean_store, session_id) is not None


async def test_a_planned_release_counts_as_no_attempt(clean_store: Store) -> None:
    await ask(clean_store, await add_ended(clean_store))
    held = await claimed(clean_store)
    async with clean_store.connect() as tx:
        assert await release_lease(tx, held.fence, planned=True)
    again = await claimed(clean_store)
    assert (again.taken_over, again.resumed, again.attempts) == (False, True, 0)


async def test_the_attempts_of_the_investigation_are_not_those_of_the_question(clean_store: Store) -> None:
    session_id = await add_ended(clean_store)
    async with clean_store.connect() as tx:
        await tx.execute("UPDATE session_leases SET attempts = 2")
        await tx.execute("UPDATE session_feeds SET progressed = false")
    for _ in range(2):
        await ask(clean_store, session_id)
        held = await claimed(clean_store)
        assert held.attempts == 0
        await finish(clean_store, held)
    async with clean_store.connect() as tx:
        assert await tx.fetchval("SELECT alert_attempts FROM session_leases") == 2


async def test_a_cancelled_question_is_told_to_its_owner_and_can_end_in_no_other_way(clean_store: Store) -> None:
    session_id = await add_ended(clean_store)
    stage_id = await ask(clean_store, session_id)
    assert stage_id is not None
    held = await claimed(clean_store)
    async with clean_store.begin() as tx:
        request = await request_chat_cancel(tx, session_id)
    assert request is not None
    assert request.seq is None
    async with clean_store.connect() as tx:
        renewal = await renew_lease(tx, held.fence, LEASE)
    assert renewal == Renewal(status=SessionStatus.COMPLETED, cancelled=frozenset({stage_id}))
    assert await finish(clean_store, held, WorkStatus.COMPLETED) is WorkStatus.CANCELLED
    async with clean_store.begin() as tx:
        assert await request_chat_cancel(tx, session_id) is None
        assert await tx.fetchval("SELECT count(*) FROM cancel_requests") == 0


async def test_a_cancelled_question_whose_owner_died_is_known_as_such_by_the_next(clean_store: Store) -> None:
    session_id = await add_ended(clean_store)
    await ask(clean_store, session_id)
    await claimed(clean_store)
    async with clean_store.begin() as tx:
        await request_chat_cancel(tx, session_id)
    await expire_lease(clean_store, session_id)
    assert (await claimed(clean_store)).is_cancelled


@pytest.mark.parametrize("ending", list(WorkStatus)[2:])
async def test_cancelling_and_ending_at_once_make_one_end(clean_store: Store, ending: WorkStatus) -> None:
    for _ in range(5):
        session_id = await add_ended(clean_store)
        await ask(clean_store, session_id)
        held = await claimed(clean_store)

        async def cancel(session_id: UUID = session_id) -> bool:
            async with clean_store.begin() as tx:
                return await request_chat_cancel(tx, session_id) is not None

        async with asyncio.timeout(60), asyncio.TaskGroup() as group:
            cancelled = group.create_task(cancel())
            ended = group.create_task(finish(clean_store, held, ending))
        expected = WorkStatus.CANCELLED if cancelled.result() else ending
        assert ended.result() is expected
        async with clean_store.connect() as tx:
            told = await tx.fetch(
                "SELECT payload FROM events WHERE session_id = $1 AND type = 'stage.status'", session_id
            )
            assert [json.decode(row["payload"])["status"] for row in told] == [expected]
            assert await tx.fetchval("SELECT count(*) FROM cancel_requests") == 0


async def test_cancelling_and_claiming_at_once_leave_nobody_with_a_dead_question(clean_store: Store) -> None:
    for _ in range(10):
        session_id = await add_ended(clean_store)
        await ask(clean_store, session_id)

        async def cancel(session_id: UUID = session_id) -> bool:
            async with clean_store.begin() as tx:
                request = await request_chat_cancel(tx, session_id)
            assert request is not None
            return request.seq is not None

        async with asyncio.timeout(60), asyncio.TaskGroup() as group:
            over = group.create_task(cancel())
            held = group.create_task(claim(clean_store))
        found = held.result()
        assert (found is None) is over.result()
        if found is not None:
            assert await finish(clean_store, found) is WorkStatus.CANCELLED
        assert await ask(clean_store, session_id) is not None
        await finish(clean_store, await claimed(clean_store))


async def test_an_answer_is_begun_and_told_of_once(clean_store: Store) -> None:
    session_id = await add_ended(clean_store)
    await ask(clean_store, session_id)
    held = await claimed(clean_store)
    assert held.chat_stage_id is not None
    for _ in range(2):
        async with clean_store.begin() as tx:
            question = await read_question(tx, session_id, held.chat_stage_id)
            await begin_answer(tx, fence=held.fence, question=question)
    async with clean_store.connect() as tx:
        assert await tx.fetchval("SELECT count(*) FROM events WHERE type = 'stage.status'") == 1


@asynccontextmanager
async def open_chat(store: Store, folder: Path) -> AsyncGenerator[tuple[World, UUID]]:
    """A session that has ended, in a world where questions are answered by turns of their own."""

    def answer(body: Body) -> Reply:
        turn = count_turns(body)
        return TURNS[turn] if QUESTION in str(body["messages"]) else ScriptedTurn(text="It ran hot.")

    async with open_world(store, folder / "effects", answer) as usual:
        (chain,) = usual.config.chains.values()
        chains = {"chain": chain.model_copy(update={"chat": Chat(enabled=True, agent="watch")})}
        world = replace(usual, config=replace(usual.config, chains=chains))
        session_id = await world.submit()
        await world.live_on(session_id)
        yield world, session_id


async def answer_on(world: World, session_id: UUID, harm: dict[int, Harm]) -> int:
    """Asks, and lives life after life until the question has ended; returns the commits of the first life."""
    assert await ask(world.store, session_id) is not None
    first = CuttingPool(world.store.pool, harm)
    await world.answer(first)
    for _ in range(5):
        async with world.store.connect() as tx:
            if await tx.fetchval("SELECT expires_at IS NULL FROM session_leases WHERE session_id = $1", session_id):
                return first.commits
        await world.expire()
        await world.answer(CuttingPool(world.store.pool))
    raise AssertionError("the question did not come to an end")


async def check_answer(world: World, session_id: UUID, *, lost: bool) -> None:
    async with world.store.connect() as tx:
        await check_timeline(tx, session_id)
        await check_conversations(tx, session_id, ended_well=True)
        stage = await tx.fetchrow(
            "SELECT stage_id, status FROM stages WHERE session_id = $1 ORDER BY stage_index DESC LIMIT 1", session_id
        )
        assert stage is not None
        texts = await tx.fetch(
            "SELECT t.content FROM timeline_events e JOIN texts t USING (session_id, text_id) "
            "WHERE e.stage_id = $1 AND e.event_type = 'final_analysis'",
            stage["stage_id"],
        )
        told = await tx.fetch(
            "SELECT payload FROM events WHERE session_id = $1 AND type = 'stage.status' ORDER BY seq", session_id
        )
        calls = await tx.fetch(
            "SELECT c.tool_name, c.state FROM tool_calls c JOIN agent_executions e USING (execution_id) "
            "WHERE e.stage_id = $1 ORDER BY c.call_index",
            stage["stage_id"],
        )
        seqs = await tx.fetch("SELECT seq FROM events WHERE session_id = $1 ORDER BY seq", session_id)
    assert stage["status"] == "completed"
    assert [row["content"] for row in texts] == ["Because it ran dry."]
    said = [json.decode(row["payload"]) for row in told]
    assert [each["status"] for each in said if each["stage_id"] == str(stage["stage_id"])] == ["started", "completed"]
    assert [row["seq"] for row in seqs] == list(range(1, len(seqs) + 1))
    assert [row["tool_name"] for row in calls] == ["deck.echo", "deck.restart", "deck.echo"]
    assert calls[1]["state"] == "finished" or (lost and calls[1]["state"] == "unknown")
    assert sum(entry["tool"] == "restart" for entry in world.effects()) <= 1
    assert await world.status(session_id) is SessionStatus.COMPLETED


async def test_an_answer_cut_at_any_commit_ends_as_it_would_have_and_does_nothing_twice(
    store: Store, tmp_path: Path
) -> None:
    async with asyncio.timeout(300), open_chat(store, tmp_path) as (world, session_id):
        commits = await answer_on(world, session_id, {})
        await check_answer(world, session_id, lost=False)
        assert commits > 5
        for number in range(1, commits + 1):
            for harm in Harm:
                world.effects_file.unlink(missing_ok=True)
                await answer_on(world, session_id, {number: harm})
                await check_answer(world, session_id, lost=harm in (Harm.DIE_BEFORE, Harm.DIE_AFTER))


async def test_an_answer_keeps_the_count_of_its_take_overs_and_their_times(store: Store, tmp_path: Path) -> None:
    async with asyncio.timeout(60), open_chat(store, tmp_path) as (world, session_id):
        await answer_on(world, session_id, {})
        await answer_on(world, session_id, {6: Harm.DIE_AFTER})
        await answer_on(world, session_id, {})
        async with world.store.connect() as tx:
            questions = await list_questions(tx, session_id)
            reading = await read_session(tx, session_id)
    assert [each.attempts for each in questions] == [0, 1, 0]
    assert [len(each.resumed_at) for each in questions] == [0, 1, 0]
    assert reading is not None
    assert (reading.session["attempts"], reading.resumed_at()) == (0, [])
    stages = {stage["stage_id"]: stage for stage in reading.stages}
    assert [stages[each.stage_id]["attempts"] for each in questions] == [0, 1, 0]
    assert [reading.resumed_at(each.stage_id) for each in questions] == [list(each.resumed_at) for each in questions]
    assert [stage["attempts"] for stage in reading.stages if stage["stage_type"] != "chat"] == [None, None]


async def test_an_agent_of_an_answer_that_somebody_wanted_ended_before_a_crash_is_ended_after_it(
    store: Store, tmp_path: Path
) -> None:
    async with asyncio.timeout(60), open_chat(store, tmp_path) as (world, session_id):
        await ask(world.store, session_id)
        await world.answer(CuttingPool(world.store.pool, {6: Harm.DIE_AFTER}))
        async with world.store.begin() as tx:
            execution_id = await tx.fetchval("SELECT execution_id FROM agent_executions WHERE status = 'active'")
            await add_cancel_request(tx, session_id, execution_id)
        asked = len(world.model.requests)
        await world.expire()
        await world.answer(CuttingPool(world.store.pool))
        assert len(world.model.requests) == asked
        async with world.store.connect() as tx:
            ended = await tx.fetchrow(
                "SELECT s.status AS stage, e.status FROM agent_executions e JOIN stages s USING (stage_id) "
                "WHERE e.execution_id = $1",
                execution_id,
            )
            assert ended is not None
            assert (ended["stage"], ended["status"]) == ("cancelled", "cancelled")
            await check_timeline(tx, session_id)
