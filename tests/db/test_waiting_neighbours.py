"""Agents side by side, of which some wait for a person; and answers in a chat that do."""

import asyncio
from dataclasses import replace
from pathlib import Path
from uuid import UUID

from midwatch.config.chains import Stage, StageAgent, Synthesis
from midwatch.config.safety import Rule
from midwatch.domain.session import SessionStatus
from midwatch.intake.ask_question import Question, Questions
from midwatch.intake.cancel_session import cancel_session
from midwatch.intake.wake import Waker
from midwatch.llm.scripted import ScriptedCall, ScriptedTurn
from midwatch.masking.mask import MaskedAlert
from midwatch.store.engine import Store
from midwatch.timeline.flush import Flusher
from tests.asking import (
    DONE,
    find_question,
    list_questions,
    list_records,
    live,
    look,
    looks,
    open_controlled,
    read_lease,
    restart,
    restarts,
    say,
)
from tests.fakes.cutting_pool import CuttingPool
from tests.fakes.openai_events import list_events
from tests.fakes.openai_server import Body, Reply, Stream, by_turn, from_script
from tests.invariants import check_session
from tests.safety.requirements import requirement
from tests.waiting import eventually

CREW = Stage(
    name="look",
    agents=(StageAgent(name="watch", llm_provider="left"), StageAgent(name="watch", llm_provider="right")),
    synthesis=Synthesis(llm_provider="joiner"),
)
JOINED = [ScriptedTurn(text="Both run.")]


@requirement("parking:siblings-go-on")
async def test_a_stage_is_parked_when_none_of_its_agents_can_go_on(store: Store, tmp_path: Path) -> None:
    script = from_script(
        {
            "left": [look("l1"), restart("l2"), look("l3"), DONE],
            "right": [look("r1"), look("r2"), look("r3"), DONE],
            "joiner": JOINED,
        }
    )
    async with open_controlled(store, tmp_path / "effects", script, stages=(CREW,)) as world:
        session_id = await world.submit()
        await live(world)
        assert (await read_lease(store, session_id))["parked"] is True
        async with store.connect() as tx:
            rows = await tx.fetch("SELECT status FROM agent_executions ORDER BY agent_index")
        assert [row["status"] for row in rows] == ["active", "completed"]
        await say(store, await find_question(store, session_id), yes=True)
        await live(world)
        assert await world.status(session_id) is SessionStatus.COMPLETED
        assert restarts(world) == ["l2"]
        async with store.connect() as tx:
            await check_session(tx, session_id, world.effects())


@requirement("parking:siblings-go-on", "parking:goes-on")
async def test_one_that_waits_goes_on_as_soon_as_somebody_decides_while_its_neighbour_is_at_work(
    store: Store, tmp_path: Path
) -> None:
    release = asyncio.Event()
    scripted = from_script(
        {
            "left": [look("l1"), restart("l2"), look("l3"), DONE],
            "right": [look("r1"), DONE],
            "joiner": JOINED,
        }
    )

    def answer(body: Body) -> Reply:
        reply = scripted(body)
        is_held = body["model"] == "right" and isinstance(reply, ScriptedTurn) and not reply.calls
        return Stream([release, *list_events(reply)]) if is_held and isinstance(reply, ScriptedTurn) else reply

    async with open_controlled(store, tmp_path / "effects", answer, stages=(CREW,)) as world:
        session_id = await world.submit()
        async with asyncio.TaskGroup() as group:
            group.create_task(live(world))
            (question,) = await eventually(lambda: list_questions(store, session_id))
            await say(store, question["approval_id"], yes=True)
            await eventually(lambda: restarts(world))
            assert (await read_lease(store, session_id))["parked"] is False
            release.set()
        assert await world.status(session_id) is SessionStatus.COMPLETED
        assert restarts(world) == ["l2"]
        async with store.connect() as tx:
            await check_session(tx, session_id, world.effects())


@requirement("parking:goes-on")
async def test_of_two_questions_at_once_each_is_decided_for_itself(store: Store, tmp_path: Path) -> None:
    script = from_script(
        {
            "left": [look("l1"), restart("l2"), look("l3"), DONE],
            "right": [look("r1"), restart("r2"), look("r3"), DONE],
            "joiner": JOINED,
        }
    )
    async with open_controlled(store, tmp_path / "effects", script, stages=(CREW,)) as world:
        session_id = await world.submit()
        await live(world)
        questions = await list_questions(store, session_id)
        assert [question["state"] for question in questions] == ["waiting", "waiting"]
        await say(store, questions[0]["approval_id"], yes=True)
        await live(world)
        assert len(restarts(world)) == 1
        assert (await read_lease(store, session_id))["parked"] is True
        await say(store, questions[1]["approval_id"], yes=False)
        await live(world)
        assert await world.status(session_id) is SessionStatus.COMPLETED
        assert len(restarts(world)) == 1
        async with store.connect() as tx:
            await check_session(tx, session_id, world.effects())


@requirement("parking:goes-on", "approval:single-use")
async def test_looks_side_by_side_that_a_rule_asks_about_are_decided_each_for_itself(
    store: Store, tmp_path: Path
) -> None:
    both = ScriptedTurn(
        text="I look twice.",
        calls=tuple(ScriptedCall(name="deck.echo", arguments={"text": text}) for text in ("one", "two")),
    )
    async with open_controlled(store, tmp_path / "effects", by_turn([both, DONE])) as world:
        rule = Rule(tools=("deck.echo",), decision="ask", reason="logs are private")
        safety = world.config.safety.model_copy(update={"rules": (rule,)})
        asking = replace(world, config=replace(world.config, safety=safety))
        session_id = await asking.submit()
        await live(asking)
        first, second = await list_questions(store, session_id)
        assert looks(world) == []
        await say(store, second["approval_id"], yes=True)
        await live(asking)
        assert len(looks(world)) == 1
        assert (await read_lease(store, session_id))["parked"] is True
        await say(store, first["approval_id"], yes=False)
        await live(asking)
        assert await asking.status(session_id) is SessionStatus.COMPLETED
        assert len(looks(world)) == 1
        records = [record[0] for record in await list_records(store, session_id)]
        assert records == ["approved", "consumed", "denied"]
        async with store.connect() as tx:
            await check_session(tx, session_id, world.effects())


async def ask_about(store: Store, session_id: UUID) -> None:
    questions = Questions(
        store=store,
        flusher=Flusher(store),
        mask=lambda text: MaskedAlert(text=text, skipped=()),
        waker=Waker(),
        is_stopping=lambda: False,
    )
    await questions.ask(Question(session_id=session_id, content="Restart it?", author="ada"))


def chatting(body: Body) -> Reply:
    is_chat = "Restart it?" in str(body["messages"][1])
    spoken = sum(message["role"] == "assistant" for message in body["messages"])
    return [look("c1"), restart("c2"), look("c3"), DONE][spoken] if is_chat else DONE


@requirement("parking:goes-on")
async def test_an_answer_in_a_chat_is_parked_and_goes_on(store: Store, tmp_path: Path) -> None:
    async with open_controlled(store, tmp_path / "effects", chatting) as world:
        session_id = await world.submit()
        await live(world)
        assert await world.status(session_id) is SessionStatus.COMPLETED
        await ask_about(store, session_id)
        await world.answer(CuttingPool(store.pool, {}))
        lease = await read_lease(store, session_id)
        assert (lease["status"], lease["waiting_for"], lease["parked"]) == ("completed", "approval", True)
        await say(store, await find_question(store, session_id), yes=True)
        await world.answer(CuttingPool(store.pool, {}))
        lease = await read_lease(store, session_id)
        assert (lease["waiting_for"], lease["parked"], lease["attempts"]) == (None, False, 0)
        assert restarts(world) == ["c2"]
        async with store.connect() as tx:
            stage = await tx.fetchrow("SELECT status FROM stages WHERE stage_type = 'chat'")
        assert stage is not None
        assert stage["status"] == "completed"


@requirement("parking:cancel")
async def test_a_parked_answer_is_cancelled_at_once_and_another_question_can_be_asked(
    store: Store, tmp_path: Path
) -> None:
    async with open_controlled(store, tmp_path / "effects", chatting) as world:
        session_id = await world.submit()
        await live(world)
        await ask_about(store, session_id)
        await world.answer(CuttingPool(store.pool, {}))
        cancelled = await cancel_session(store, Flusher(store), session_id)
        assert (cancelled.is_chat, cancelled.is_over) == (True, True)
        assert [question["state"] for question in await list_questions(store, session_id)] == ["cancelled"]
        assert await world.status(session_id) is SessionStatus.COMPLETED
        await ask_about(store, session_id)
        await world.answer(CuttingPool(store.pool, {}))
        assert len(await list_questions(store, session_id)) == 2
