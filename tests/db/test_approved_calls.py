"""A yes is for the call as a person saw it: whatever has changed by the time it is to run, it does not run."""

from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from midwatch.domain.session import SessionStatus
from midwatch.kit import json
from midwatch.llm.scripted import ScriptedCall, ScriptedTurn
from midwatch.store.engine import Store
from tests.asking import (
    DONE,
    controlled,
    find_question,
    list_questions,
    list_records,
    live,
    look,
    looks,
    open_controlled,
    read_answer,
    restart,
    restarts,
    say,
    write_inventory,
)
from tests.fakes.cutting_pool import Harm
from tests.fakes.openai_server import by_turn
from tests.invariants import check_session
from tests.lives import World
from tests.safety.requirements import requirement

SCRIPT = by_turn([look("before"), restart("pump"), look("after"), DONE])
LIST = ScriptedTurn(text="I list.", calls=(ScriptedCall(name="deck.inventory", arguments={"of": "pumps"}),))
BY_NAME = by_turn([LIST, restart("p1"), look("p1"), DONE])
SERVER: dict[str, Any] = {
    "targets": {"restart": "pump:{name}", "echo": "pump:{text}"},
    "discovers": {"inventory": "pumps[].{kind: 'pump', uid: id, host: host}"},
}


async def ask_and_approve(world: World) -> UUID:
    session_id = await world.submit()
    await live(world)
    await say(world.store, await find_question(world.store, session_id), yes=True)
    return session_id


async def read_code(world: World, session_id: UUID) -> str:
    (answer,) = await read_answer(world.store, session_id)
    return answer["code"]


@requirement("approval:looked-up-again")
async def test_code_finds_the_target_again_before_the_yes_is_used(store: Store, tmp_path: Path) -> None:
    pumps = tmp_path / "inventory"
    write_inventory(pumps, [{"id": "p1"}])
    async with open_controlled(store, tmp_path / "effects", BY_NAME, "--inventory", str(pumps), **SERVER) as world:
        session_id = await ask_and_approve(world)
        (question,) = await list_questions(store, session_id)
        assert '"origin": {"tool": "deck.inventory"' in question["targets"]
        assert looks(world, "inventory") == [{"of": "pumps"}]
        asked_before = len(world.model.requests)
        await live(world)
        assert await world.status(session_id) is SessionStatus.COMPLETED
        assert restarts(world) == ["p1"]
        assert looks(world, "inventory") == [{"of": "pumps"}] * 2
        assert len(world.model.requests) == asked_before + 2
        async with store.connect() as tx:
            shown = await tx.fetch(
                "SELECT metadata FROM timeline_events WHERE event_type = 'llm_tool_call' AND call_id IS NULL"
            )
            await check_session(tx, session_id, world.effects())
        assert len(shown) == 1
        assert '"asked_by": "midwatch"' in shown[0]["metadata"]


@requirement("approval:looked-up-again", "approval:whole-call")
@pytest.mark.parametrize("pumps", [[], [{"id": "p2"}], [{"id": "p1", "host": "aft"}]])
async def test_a_target_that_is_gone_or_another_is_not_changed(
    store: Store, tmp_path: Path, pumps: list[dict[str, str]]
) -> None:
    inventory = tmp_path / "inventory"
    write_inventory(inventory, [{"id": "p1"}])
    async with open_controlled(store, tmp_path / "effects", BY_NAME, "--inventory", str(inventory), **SERVER) as world:
        session_id = await ask_and_approve(world)
        write_inventory(inventory, pumps)
        await live(world)
        assert await world.status(session_id) is SessionStatus.COMPLETED
        assert await read_code(world, session_id) in ("STRICT_RESOLUTION", "APPROVAL_STALE")
        assert restarts(world) == []


@requirement("approval:whole-call")
async def test_a_yes_to_another_definition_of_the_tool_is_void(store: Store, tmp_path: Path) -> None:
    async with open_controlled(store, tmp_path / "effects", SCRIPT) as world:
        session_id = await ask_and_approve(world)
        await live(controlled(world, "--words", ", and it floods the engine room"))
        (answer,) = await read_answer(store, session_id)
        assert (answer["code"], answer["details"]["changed"]) == ("APPROVAL_STALE", ["definition"])
        assert restarts(world) == []


@requirement("approval:whole-call")
async def test_a_yes_to_other_arguments_is_void(store: Store, tmp_path: Path) -> None:
    async with open_controlled(store, tmp_path / "effects", SCRIPT) as world:
        session_id = await ask_and_approve(world)
        async with store.connect() as tx:
            await tx.execute(
                "UPDATE tool_calls SET arguments = '{\"name\": \"reactor\"}' WHERE state = 'waiting_approval'"
            )
        await live(world)
        (answer,) = await read_answer(store, session_id)
        assert (answer["code"], answer["details"]["changed"]) == ("APPROVAL_STALE", ["arguments"])
        assert restarts(world) == []


@requirement("approval:whole-call")
async def test_a_yes_to_another_target_is_void(store: Store, tmp_path: Path) -> None:
    inventory = tmp_path / "inventory"
    write_inventory(inventory, [{"id": "p1"}])
    async with open_controlled(store, tmp_path / "effects", BY_NAME, "--inventory", str(inventory), **SERVER) as world:
        session_id = await ask_and_approve(world)
        await live(controlled(world, "--inventory", str(inventory), **SERVER | {"targets": {}}))
        (answer,) = await read_answer(store, session_id)
        assert (answer["code"], answer["details"]["changed"]) == ("APPROVAL_STALE", ["targets"])
        assert restarts(world) == []


@requirement("approval:shows-all", "approval:words-are-words")
async def test_the_question_shows_the_whole_call_and_the_models_words_as_such(store: Store, tmp_path: Path) -> None:
    async with open_controlled(store, tmp_path / "effects", SCRIPT) as world:
        session_id = await world.submit()
        await live(world)
        async with store.connect() as tx:
            row = await tx.fetchrow(
                "SELECT request->>'tool_name' AS tool, request->'arguments'->>'name' AS name, request->>'kind' AS k, "
                "request->'verdict'->>'policy_rule' AS rule, request->'models_words'->>'text' AS words, "
                "request->'models_words'->>'trusted' AS trusted, request->'targets'->0->>'id' AS target "
                "FROM approvals WHERE session_id = $1",
                session_id,
            )
        assert row is not None
        assert tuple(row) == (
            *("restart", "pump", "write", "level:controlled", "The pump is stuck, so I restart it.", "false"),
            "mcp:deck",
        )


@requirement("rules:secrets", "rules:egress", "approval:shows-all")
@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"path": "/root/.ssh/id_rsa"}, ("sensitive:controlled", "it would show ssh keys")),
        (
            {"url": "https://example.com/?q=1"},
            ("egress:controlled", "it would reach example.com, which is not among the allowed destinations"),
        ),
    ],
)
@pytest.mark.parametrize("yes", [True, False])
async def test_a_look_at_secrets_or_outside_waits_for_a_person(
    more: dict[str, str],
    why: tuple[str, str],
    yes: bool,  # noqa: FBT001 - a parameter
    store: Store,
    tmp_path: Path,
) -> None:
    opening = ScriptedTurn(text="I look.", calls=(ScriptedCall(name="deck.echo", arguments={"text": "x", **more}),))
    async with open_controlled(store, tmp_path / "effects", by_turn([opening, DONE])) as world:
        session_id = await world.submit()
        await live(world)
        (question,) = await list_questions(store, session_id)
        shown = json.decode(question["request"])
        verdict = shown["verdict"]
        assert (shown["kind"], verdict["policy_rule"], verdict["policy_reason"]) == ("read", *why)
        assert looks(world) == []
        await say(store, question["approval_id"], yes=yes)
        await live(world)
        assert await world.status(session_id) is SessionStatus.COMPLETED
        assert looks(world) == ([{"text": "x", **more}] if yes else [])
        refused = [each["code"] for each in await read_answer(store, session_id, "deck.echo")]
        assert refused == ([] if yes else ["APPROVAL_DENIED"])


@requirement("parking:survives")
@pytest.mark.parametrize("harm", [Harm.DIE_BEFORE, Harm.DIE_AFTER, Harm.LOSE_QUESTION, Harm.LOSE_ANSWER])
@pytest.mark.parametrize("moment", range(6, 13))
async def test_whoever_dies_around_the_question_it_is_asked_once_and_answered_with_one_effect(
    clean_store: Store, tmp_path: Path, harm: Harm, moment: int
) -> None:
    store = clean_store
    async with open_controlled(store, tmp_path / "effects", SCRIPT) as world:
        session_id = await world.submit()
        await live(world, {moment: harm})
        await world.expire()
        await live(world)
        (question,) = await list_questions(store, session_id)
        if question["state"] == "waiting":
            await say(store, question["approval_id"], yes=True)
        await live(world)
        await world.expire()
        await live(world)
        assert await world.status(session_id) is SessionStatus.COMPLETED
        assert restarts(world) == ["pump"]
        assert [record[0] for record in await list_records(store, session_id)] == ["approved", "consumed"]
        async with store.connect() as tx:
            await check_session(tx, session_id, world.effects())


@requirement("parking:survives")
@pytest.mark.parametrize("harm", [Harm.DIE_BEFORE, Harm.DIE_AFTER, Harm.LOSE_QUESTION, Harm.LOSE_ANSWER])
@pytest.mark.parametrize("moment", range(1, 7))
async def test_whoever_dies_after_the_yes_the_call_runs_at_most_once(
    clean_store: Store, tmp_path: Path, harm: Harm, moment: int
) -> None:
    store = clean_store
    async with open_controlled(store, tmp_path / "effects", SCRIPT) as world:
        session_id = await ask_and_approve(world)
        await live(world, {moment: harm})
        await world.expire()
        await live(world)
        await world.expire()
        await live(world)
        assert await world.status(session_id) is SessionStatus.COMPLETED
        assert restarts(world) in ([], ["pump"])
        (question,) = await list_questions(store, session_id)
        assert question["consumed_at"] is not None or restarts(world) == []
        assert [record[0] for record in await list_records(store, session_id)] == ["approved", "consumed"]
        async with store.connect() as tx:
            await check_session(tx, session_id, world.effects())
