"""The gate in whole sessions, over real tools and a real database: what is stored, shown and kept of its decisions."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from midwatch.config.chains import Chat
from midwatch.config.mcp import Kinds, Target
from midwatch.config.safety import Rule, Safety
from midwatch.domain.safety import ControlLevel, SafetyMode
from midwatch.domain.tools import ToolKind
from midwatch.kit import json
from midwatch.llm.scripted import ScriptedCall, ScriptedTurn
from midwatch.safety.machine import Machine, Phase
from midwatch.store.calls import list_unverified, load_recorded_calls
from midwatch.store.engine import Store
from midwatch.store.feed import read_events, read_timeline
from midwatch.store.readings import read_session
from midwatch.timeline.render import render_event, render_timeline_entry
from tests.db.test_chat_lives import QUESTION, ask
from tests.fakes.cutting_pool import CuttingPool, Harm
from tests.fakes.mcp_process import fake_mcp_server
from tests.fakes.openai_server import Body, Reply, by_turn, count_turns
from tests.invariants import check_session
from tests.lives import SERVER, World, open_world, stage
from tests.safety.requirements import requirement
from tests.waiting import eventually

KINDS = Kinds(read=("echo", "fail", "shell"), write=("restart", "slow_write"), resolve=("lookup",))
LIMIT = 60


def call(tool: str, **arguments: Any) -> ScriptedCall:
    return ScriptedCall(name=f"deck.{tool}", arguments=arguments)


def act(*calls: ScriptedCall) -> ScriptedTurn:
    return ScriptedTurn(calls=calls)


def say(text: str) -> ScriptedTurn:
    return ScriptedTurn(text=text)


@asynccontextmanager
async def open_deck(
    store: Store,
    folder: Path,
    turns: Sequence[ScriptedTurn],
    *,
    safety: Safety | None = None,
    max_iterations: int = 20,
    **server: Any,
) -> AsyncGenerator[World]:
    effects = folder / "effects"
    stages = (stage("look", max_iterations=max_iterations),)
    async with open_world(store, effects, by_turn(turns), stages=stages) as usual:
        deck = fake_mcp_server("--effects", str(effects), "--log-reads", "--shell").model_copy(
            update={"kinds": KINDS, **server}
        )
        yield replace(
            usual,
            config=replace(
                usual.config,
                mcp_servers={SERVER: deck},
                safety=safety or Safety(control_level=ControlLevel.AUTONOMOUS),
            ),
        )


async def run(world: World) -> UUID:
    session_id = await world.submit()
    async with asyncio.timeout(LIMIT):
        await world.live_on(session_id)
    async with world.store.connect() as tx:
        await check_session(tx, session_id, world.effects())
    return session_id


async def read_timeline_of(world: World, session_id: UUID) -> list[dict[str, Any]]:
    async with world.store.connect() as tx:
        return [render_timeline_entry(row) for row in await read_timeline(tx, session_id)]


async def read_calls_of(world: World, session_id: UUID) -> list[tuple[str, str, str | None]]:
    async with world.store.connect() as tx:
        rows = await tx.fetch(
            "SELECT tool_name, state, error_code FROM tool_calls WHERE session_id = $1 "
            "ORDER BY message_sequence, call_index",
            session_id,
        )
    return [(row["tool_name"].removeprefix("deck."), row["state"], row["error_code"]) for row in rows]


async def read_detail(world: World, session_id: UUID) -> dict[str, Any]:
    async with world.store.connect() as tx:
        detail = await read_session(tx, session_id)
    assert detail is not None
    return detail.session


async def read_prompts(world: World, session_id: UUID) -> list[str]:
    async with world.store.connect() as tx:
        rows = await tx.fetch(
            "SELECT t.content FROM messages m JOIN texts t USING (session_id, text_id) "
            "WHERE m.session_id = $1 AND m.role = 'user' ORDER BY m.message_id",
            session_id,
        )
    return [row["content"] for row in rows]


@requirement("conclusion:withdrawn", "conclusion:refused")
async def test_a_draft_before_the_last_look_is_withdrawn_and_the_next_one_stands(
    clean_store: Store, tmp_path: Path
) -> None:
    turns = [act(call("restart", name="web")), say("It is done."), act(call("echo", text="up")), say("It is up.")]
    async with open_deck(clean_store, tmp_path, turns) as world:
        session_id = await run(world)
        entries = await read_timeline_of(world, session_id)
        detail = await read_detail(world, session_id)
        prompts = await read_prompts(world, session_id)
        async with clean_store.connect() as tx:
            events = [render_event(row) for row in await read_events(tx, {session_id: 0}, limit=1000)]
    said = [(entry["content"], entry["status"]) for entry in entries if entry["event_type"] == "llm_response"]
    assert said[:2] == [("It is done.", "withdrawn"), ("It is up.", "completed")]
    finals = [entry for entry in entries if entry["event_type"] == "final_analysis"]
    assert finals[0]["content"] == "It is up."
    assert "unverified_targets" not in finals[0]["metadata"]
    assert (detail["final_analysis"], detail["unverified_targets"], detail["warnings"]) == ("It is up.", [], [])
    told = [prompt for prompt in prompts if "not taken as the conclusion yet" in prompt]
    assert len(told) == 1
    assert "mcp:deck" in told[0]
    withdrawn = [event for event in events if event.get("status") == "withdrawn"]
    assert {event["type"] for event in withdrawn} >= {"timeline_event.completed"}


@requirement("conclusion:forced-says-so")
async def test_a_forced_conclusion_stands_and_says_what_nobody_has_looked_at(
    clean_store: Store, tmp_path: Path
) -> None:
    turns = [act(call("restart", name="web")), say("I had to stop.")]
    async with open_deck(clean_store, tmp_path, turns, max_iterations=1) as world:
        session_id = await run(world)
        detail = await read_detail(world, session_id)
        entries = await read_timeline_of(world, session_id)
        prompts = await read_prompts(world, session_id)
    assert (detail["status"], detail["final_analysis"]) == ("completed", "I had to stop.")
    assert detail["unverified_targets"] == ["mcp:deck"]
    assert detail["warnings"] == ["changed, and not looked at since: mcp:deck"]
    first = next(entry for entry in entries if entry["event_type"] == "final_analysis")
    assert first["metadata"]["forced_conclusion"] is True
    assert first["metadata"]["unverified_targets"] == ["mcp:deck"]
    (summed_up,) = [prompt for prompt in prompts if "Sum this analysis up" in prompt]
    assert "nobody has looked at them since: mcp:deck" in summed_up


@requirement("conclusion:forced-says-so")
async def test_a_session_that_fails_says_what_nobody_has_looked_at(clean_store: Store, tmp_path: Path) -> None:
    turns = [act(call("restart", name="web")), ScriptedTurn(), ScriptedTurn(), ScriptedTurn(), ScriptedTurn()]
    async with open_deck(clean_store, tmp_path, turns) as world:
        session_id = await run(world)
        detail = await read_detail(world, session_id)
    assert (detail["status"], detail["unverified_targets"]) == ("failed", ["mcp:deck"])


@requirement("conclusion:resumed")
@pytest.mark.parametrize("death", [Harm.DIE_BEFORE, Harm.DIE_AFTER])
async def test_a_run_that_dies_around_its_draft_comes_to_the_same_decision(
    death: Harm, clean_store: Store, tmp_path: Path
) -> None:
    turns = [act(call("restart", name="web")), say("It is done."), act(call("echo", text="up")), say("It is up.")]
    async with open_deck(clean_store, tmp_path, turns) as world:
        for commit in range(7, 14):
            world.effects_file.unlink(missing_ok=True)
            session_id = await world.submit()
            async with asyncio.timeout(LIMIT):
                await world.live(CuttingPool(clean_store.pool, {commit: death}))
                await world.expire()
                await world.live_on(session_id)
            detail = await read_detail(world, session_id)
            prompts = await read_prompts(world, session_id)
            assert (detail["final_analysis"], detail["unverified_targets"]) == ("It is up.", [])
            assert sum("not taken as the conclusion yet" in prompt for prompt in prompts) == 1


@requirement("journal:one-hand")
async def test_of_two_sessions_that_change_one_target_one_is_refused_until_the_other_is_done(
    clean_store: Store, tmp_path: Path
) -> None:
    hold = tmp_path / "hold"
    hold.touch()
    targets = {"*": Target(target="pump:{name}")}
    found = call("echo", text='{"items":["pump:web","pump:db"]}')

    def turns(*changes: ScriptedCall) -> list[ScriptedTurn]:
        return [act(found), act(*changes), act(call("echo", text="up", name="web")), say("Done.")]

    slow = call("slow_write", name="web", hold=str(hold))
    settings: dict[str, Any] = {"targets": targets, "discovers": {"echo": "items[]"}}
    async with (
        asyncio.timeout(LIMIT),
        open_deck(clean_store, tmp_path, turns(slow), **settings) as first,
        open_deck(clean_store, tmp_path, turns(call("restart", name="web")), **settings) as second,
    ):
        holder = await first.submit()
        async with asyncio.TaskGroup() as group:
            group.create_task(first.live(CuttingPool(clean_store.pool)))
            await eventually(lambda: [effect for effect in first.effects() if effect["tool"] == "slow_write"])
            other = await second.submit()
            await second.live(CuttingPool(clean_store.pool))
            hold.unlink()
        busy, done = await read_calls_of(second, other), await read_calls_of(first, holder)
        third = await second.submit()
        await second.live(CuttingPool(clean_store.pool))
        free = await read_calls_of(second, third)
    assert busy[1] == ("restart", "refused", "TARGET_BUSY")
    assert done[1] == ("slow_write", "finished", None)
    assert free[1] == ("restart", "finished", None)


@requirement("gate:judged")
async def test_the_timeline_says_by_which_rule_and_at_which_risk(clean_store: Store, tmp_path: Path) -> None:
    rules = (
        Rule(tools=("deck.restart",), decision="refuse", reason="not the pumps"),
        Rule(kinds=(ToolKind.WRITE,), decision="allow"),
    )
    turns = [
        act(call("echo", text="a"), call("restart", name="web"), call("slow_write", name="web", seconds=0)),
        act(call("echo", text="b"), call("nothing")),
        say("Done."),
    ]
    safety = Safety(control_level=ControlLevel.AUTONOMOUS, rules=rules)
    async with open_deck(clean_store, tmp_path, turns, safety=safety) as world:
        entries = await read_timeline_of(world, await run(world))
    calls = [entry["metadata"] for entry in entries if entry["event_type"] == "llm_tool_call"]
    assert [(each["tool_name"], each.get("risk"), each["policy_rule"]) for each in calls] == [
        ("echo", "read_only", "operator:read:echo"),
        ("restart", "high", "rules[0]"),
        ("slow_write", "high", "rules[1]"),
        ("echo", "read_only", "operator:read:echo"),
        ("nothing", None, "gate:TOOL_NOT_FOUND"),
    ]
    refusals = [entry["metadata"] for entry in entries if entry["event_type"] == "tool_refused"]
    assert [(each["code"], each["policy_rule"], each.get("risk")) for each in refusals] == [
        ("POLICY_BLOCKED", "rules[0]", "high"),
        ("TOOL_NOT_FOUND", "gate:TOOL_NOT_FOUND", None),
    ]


@requirement("gate:rewrites-once", "gate:commands-judged")
async def test_a_bounded_command_stands_on_the_timeline_beside_the_one_that_was_asked_for(
    clean_store: Store, tmp_path: Path
) -> None:
    turns = [act(call("shell", command="tail -f /var/log/syslog"), call("shell", command="rm -r /")), say("Done.")]
    safety = Safety(control_level=ControlLevel.READ_ONLY)
    async with open_deck(clean_store, tmp_path, turns, safety=safety) as world:
        session_id = await run(world)
        entries = await read_timeline_of(world, session_id)
        calls = await read_calls_of(world, session_id)
    assert calls == [("shell", "finished", None), ("shell", "refused", "READ_ONLY_VIOLATION")]
    (rewritten, refused) = [entry for entry in entries if entry["event_type"] == "tool_refused"]
    assert json.decode(rewritten["content"])["error"]["details"]["category"] == "unbounded_stream"
    assert rewritten["metadata"]["policy_rule"] == "gate:rewrite"
    assert refused["metadata"]["policy_rule"] == "level:read_only"
    ran = next(entry for entry in entries if entry["event_type"] == "llm_tool_call")
    assert "tail -f" not in ran["content"]
    assert ran["content"].startswith("ran tail -n 200")


@requirement("gate:learns", "gate:session-decides", "target:from-arguments")
async def test_what_a_session_has_found_may_be_changed_and_nothing_else(clean_store: Store, tmp_path: Path) -> None:
    turns = [
        act(call("restart", name="web")),
        act(call("echo", text='{"items":[{"kind":"pump","uid":"web"}]}')),
        act(call("restart", name="web"), call("restart", name="db")),
        act(call("lookup", key="web")),
        say("Done."),
        act(call("echo", text="web", name="web")),
        say("It is up."),
    ]
    async with open_deck(
        clean_store,
        tmp_path,
        turns,
        targets={"restart": Target(target="pump:{name}"), "echo": Target(target="pump:{name}")},
        discovers={"echo": "items[]"},
    ) as world:
        session_id = await run(world)
        calls = await read_calls_of(world, session_id)
        detail = await read_detail(world, session_id)
        async with clean_store.connect() as tx:
            targets = await tx.fetch(
                "SELECT targets FROM tool_calls WHERE session_id = $1 AND state = 'finished' "
                "ORDER BY message_sequence, call_index",
                session_id,
            )
    assert calls == [
        ("restart", "refused", "STRICT_RESOLUTION"),
        ("echo", "finished", None),
        ("restart", "finished", None),
        ("restart", "refused", "STRICT_RESOLUTION"),
        ("lookup", "finished", None),
        ("echo", "finished", None),
    ]
    assert [row["targets"] for row in targets] == [["mcp:deck"], ["pump:web"], ["mcp:deck"], ["pump:web"]]
    assert (detail["final_analysis"], detail["unverified_targets"]) == ("It is up.", [])


@requirement("gate:observe-tracks", "conclusion:forced-says-so")
async def test_observe_changes_nothing_and_tells_what_it_saw(clean_store: Store, tmp_path: Path) -> None:
    turns = [act(call("restart", name="web")), act(call("restart", name="web")), say("Done.")]
    safety = Safety(mode=SafetyMode.OBSERVE, control_level=ControlLevel.AUTONOMOUS)
    async with open_deck(clean_store, tmp_path, turns, safety=safety) as world:
        session_id = await run(world)
        detail = await read_detail(world, session_id)
        entries = await read_timeline_of(world, session_id)
    observed = [e["metadata"].get("observed") for e in entries if e["event_type"] == "llm_tool_call"]
    assert observed == [None, "FSM_BLOCKED"]
    assert (detail["final_analysis"], detail["unverified_targets"]) == ("Done.", ["mcp:deck"])


@requirement("machine:rebuilt", "gate:one-state")
async def test_the_journal_tells_what_is_left_to_look_at(clean_store: Store, tmp_path: Path) -> None:
    turns = [
        act(call("restart", name="web"), call("echo", text="up"), call("restart", name="db")),
        say("Enough."),
    ]
    async with open_deck(clean_store, tmp_path, turns, max_iterations=1) as world:
        session_id = await run(world)
    async with clean_store.connect() as tx:
        recorded = await load_recorded_calls(tx, session_id)
        assert await list_unverified(tx, session_id) == ("mcp:deck",)
    assert [(each.kind, each.began, each.verified) for each in sorted(recorded, key=lambda each: each.began)] == [
        (ToolKind.WRITE, 1, ()),
        (ToolKind.READ, 3, ("mcp:deck",)),
        (ToolKind.WRITE, 4, ()),
    ]
    assert all(each.owner is not None and each.held_for == 0 for each in recorded)
    assert Machine.rebuild(recorded).phase_of("mcp:deck") is Phase.VERIFYING


@requirement("conclusion:forced-says-so")
async def test_a_look_in_the_chat_settles_what_the_session_had_left_open(clean_store: Store, tmp_path: Path) -> None:
    turns = [act(call("restart", name="web")), say("I had to stop.")]
    looking = [act(call("echo", text="up")), say("It is up.")]

    def answer(body: Body) -> Reply:
        script = looking if QUESTION in str(body["messages"]) else turns
        return script[min(count_turns(body), 1)]

    async with open_world(
        clean_store, tmp_path / "effects", answer, stages=(stage("look", max_iterations=1),)
    ) as usual:
        (chain,) = usual.config.chains.values()
        chains = {"chain": chain.model_copy(update={"chat": Chat(enabled=True, agent="watch")})}
        world = replace(usual, config=replace(usual.config, chains=chains))
        session_id = await run(world)
        before = await read_detail(world, session_id)
        await ask(clean_store, session_id)
        async with asyncio.timeout(LIMIT):
            await world.answer(CuttingPool(clean_store.pool))
        after = await read_detail(world, session_id)
    warning = "changed, and not looked at since: mcp:deck"
    assert (before["unverified_targets"], before["warnings"]) == (["mcp:deck"], [warning])
    assert (after["unverified_targets"], after["warnings"]) == ([], [])
