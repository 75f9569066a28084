"""Whoever dies when: a run cut at any commit and taken up again ends as it would have, and does nothing twice."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from midwatch.config.chains import Stage, StageAgent, Synthesis
from midwatch.domain.errors import ModelUnavailable
from midwatch.domain.session import SuccessPolicy
from midwatch.domain.timeline import TimelineType
from midwatch.domain.tools import CallState
from midwatch.kit import json
from midwatch.kit.ids import new_id
from midwatch.llm.scripted import ScriptedCall, ScriptedTurn
from midwatch.store.driver import Row, Tx
from midwatch.store.engine import Store
from midwatch.store.feed import read_timeline
from midwatch.timeline.flush import Flusher, LiveStream
from tests.fakes.cutting_pool import CuttingPool, Harm
from tests.fakes.openai_server import SUMMARY, Body, by_turn, from_script
from tests.invariants import WRITES, CallKey, call_key, check_session, read_calls
from tests.lives import Plan, Told, World, open_world, stage
from tests.long_results import NAME

DEATHS = (Harm.DIE_BEFORE, Harm.DIE_AFTER)
LOSSES = (Harm.LOSE_QUESTION, Harm.LOSE_ANSWER)


def call(tool: str, mark: str) -> ScriptedCall:
    """`mark` makes the call's arguments its own, so that its effects can be told from all others."""
    argument = {"echo": "text", "lookup": "key", "fail": "message"}.get(tool, "name")
    return ScriptedCall(name=f"deck.{tool}", arguments={argument: mark})


def garbled(mark: str) -> ScriptedCall:
    return ScriptedCall(name="deck.restart", arguments=f"{{{mark}")


ALL_FEATURES = {
    "first": [
        ScriptedTurn(
            thinking="Look first.",
            text="I look around.",
            calls=(call("echo", "a1"), call("echo", "a2"), call("restart", "a3"), call("echo", "a4")),
        ),
        ScriptedTurn(calls=(garbled("b1"), call("nothing", "b2"), call("fail", "b3"), call("lookup", "b4"))),
        ScriptedTurn(),
        ScriptedTurn(text="The pump ran dry, I think."),
        ScriptedTurn(text="I look after that change.", calls=(call("echo", "b5"),)),
        ScriptedTurn(text="The pump ran dry."),
    ],
    "second": [
        ScriptedTurn(text="Once more.", calls=(call("restart", "c1"), call("restart", "c2"))),
        ScriptedTurn(),
        ScriptedTurn(thinking="No more tools.", text="It is settled."),
    ],
}
STAGES = (stage("look", model="first"), stage("act", model="second", max_iterations=1))

SIDE_BY_SIDE = {
    "left": [
        ScriptedTurn(
            thinking="Left first.",
            text="I look left.",
            calls=(call("restart", "l2"), call("echo", "l1")),
        ),
        ScriptedTurn(),
        ScriptedTurn(text="Left is dry."),
    ],
    "right": [
        ScriptedTurn(text="I look right.", calls=(call("echo", "r1"), call("fail", "r2"))),
        ScriptedTurn(text="Right is wet."),
    ],
    "broken": [ScriptedTurn(error=ModelUnavailable("no key", code="credentials", retryable=False))],
    "joiner": [
        ScriptedTurn(),
        ScriptedTurn(thinking="Both count.", text="One side is dry."),
    ],
    "twins": [
        ScriptedTurn(calls=(call("nothing", "t1"),)),
        ScriptedTurn(text="It is settled."),
    ],
}
"""Three agents of which one fails, what is made of the two others, then two that do the same, and a summary."""
CREWS = (
    Stage(
        name="look",
        agents=tuple(StageAgent(name="watch", llm_provider=model) for model in ("left", "right", "broken")),
        synthesis=Synthesis(llm_provider="joiner"),
    ),
    Stage(
        name="act",
        agents=(StageAgent(name="watch", llm_provider="twins"),),
        replicas=2,
        success_policy=SuccessPolicy.ALL,
        synthesis=Synthesis(llm_provider="joiner"),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A session's end and how it came about, without what may differ from run to run."""

    status: str
    error: str | None
    analysis: str | None
    summary: str | None
    work: list[tuple[str, str, str | None]]
    messages: list[tuple[str, str | None, str | None, bool | None]]
    calls: list[tuple[str, str, str, str | None]]


async def read_end(tx: Tx, session_id: UUID) -> Ended:
    session = await tx.fetchrow(
        "SELECT s.status, s.error_message, t.content, x.content AS summary FROM alert_sessions s "
        "LEFT JOIN texts t ON t.session_id = s.session_id AND t.text_id = s.final_analysis_text_id "
        "LEFT JOIN texts x ON x.session_id = s.session_id AND x.text_id = s.executive_summary_text_id "
        "WHERE s.session_id = $1",
        session_id,
    )
    assert session is not None
    work = await tx.fetch(
        "SELECT s.stage_name, s.status || '/' || e.status AS status, e.error_message FROM stages s "
        "JOIN agent_executions e USING (stage_id) WHERE s.session_id = $1 "
        "ORDER BY s.stage_index, e.agent_index",
        session_id,
    )
    messages = await tx.fetch(
        "SELECT m.role, t.content, m.tool_name, m.is_error FROM messages m JOIN stages s USING (stage_id) "
        "JOIN agent_executions e USING (execution_id) "
        "LEFT JOIN texts t ON t.session_id = m.session_id AND t.text_id = m.text_id "
        "WHERE m.session_id = $1 AND m.sequence_number > 1 "
        "ORDER BY s.stage_index, e.agent_index, m.sequence_number",
        session_id,
    )
    calls = await tx.fetch(
        "SELECT c.tool_name, c.arguments, c.state, c.error_code FROM tool_calls c "
        "JOIN agent_executions e USING (execution_id) JOIN stages s USING (stage_id) "
        "WHERE c.session_id = $1 ORDER BY s.stage_index, e.agent_index, c.message_sequence, c.call_index",
        session_id,
    )
    return Ended(
        status=session["status"],
        error=session["error_message"],
        analysis=session["content"],
        summary=session["summary"],
        work=[(row["stage_name"], row["status"], row["error_message"]) for row in work],
        messages=[(row["role"], _unname(row["content"]), row["tool_name"], row["is_error"]) for row in messages],
        calls=[(row["tool_name"], row["arguments"], row["state"], row["error_code"]) for row in calls],
    )


def _unname(content: str | None) -> str | None:
    """Results are named anew in every run."""
    return content and NAME.sub("(a result)", content)


async def run_uncut(world: World) -> tuple[Ended, int]:
    """How the session ends when nothing happens to anybody, and how many commits that takes."""
    session_id = await world.submit()
    pool = CuttingPool(world.store.pool)
    await world.live(pool)
    async with world.store.connect() as tx:
        ended = await read_end(tx, session_id)
        await check_session(tx, session_id, world.effects())
    check_requests(world)
    world.effects_file.unlink(missing_ok=True)
    return ended, pool.commits


async def check_run(world: World, plans: Sequence[Plan], uncut: Ended, *, reads_count: bool = False) -> list[Told]:
    """Runs the session under these plans and compares it with the run that nobody disturbed."""
    session_id = await world.submit()
    told = await world.live_on(session_id, plans, reads_count=reads_count)
    async with world.store.connect() as tx:
        await check_session(tx, session_id, world.effects())
        ended = await read_end(tx, session_id)
        calls = await read_calls(tx, session_id)
    unknown = [row for row in calls if row["state"] == CallState.UNKNOWN]
    assert len(unknown) <= sum(harm in DEATHS for plan in plans for harm in plan.values())
    compare_ends(ended, uncut)
    check_executions(calls, told)
    check_requests(world)
    world.effects_file.unlink(missing_ok=True)
    return told


def compare_ends(ended: Ended, uncut: Ended) -> None:
    """The same in everything but the results of changes that were in flight when somebody died."""
    assert (ended.status, ended.error, ended.analysis) == (
        uncut.status,
        uncut.error,
        uncut.analysis,
    )
    assert ended.summary == uncut.summary
    assert ended.work == uncut.work
    lost = [index for index, (_, _, state, _) in enumerate(ended.calls) if state == CallState.UNKNOWN]
    assert _without(ended.calls, lost) == _without(uncut.calls, lost)
    assert [entry[:2] for entry in ended.calls] == [entry[:2] for entry in uncut.calls]
    results = [index for index, message in enumerate(ended.messages) if message[0] == "tool"]
    unread = [results[index] for index in lost]
    assert _without(ended.messages, unread) == _without(uncut.messages, unread)
    assert all("Outcome unknown" in (ended.messages[index][1] or "") for index in unread)


def _without(entries: Sequence[Any], left_out: Sequence[int]) -> list[Any]:
    return [entry for index, entry in enumerate(entries) if index not in left_out]


def check_executions(calls: Sequence[Row], told: Sequence[Told]) -> None:
    """Reads run again only if they had not come to their end; a change never runs again."""
    effects = told[-1].effects
    for life in told:
        for key in life.settled:
            assert effects[key] == life.effects[key], key
    for row in calls:
        key = call_key(row["tool_name"], row["arguments"])
        if key is None or row["state"] == CallState.REFUSED:
            continue
        assert effects[key] <= (1 if is_write(key) else len(told)), key
        if row["state"] == CallState.FINISHED:
            assert effects[key] >= 1, key
    assert set(effects) <= {call_key(row["tool_name"], row["arguments"]) for row in calls}


def is_write(key: CallKey) -> bool:
    """`lookup` is not proven to be a read, and so is treated as a change."""
    return key[0] in WRITES | {"lookup"}


def check_requests(world: World) -> None:
    """In every conversation that a model was shown, each call is answered once, right behind it and in order."""
    for request in world.model.requests:
        check_conversation(request.body)
    world.model.requests.clear()


def check_conversation(body: Body) -> None:
    messages = body["messages"]
    assert [message["role"] for message in messages[:2]] == ["system", "user"]
    expected: list[str] = []
    for message in messages[2:]:
        if message["role"] == "tool":
            assert expected, "an answer to nothing"
            assert message["tool_call_id"] == expected.pop(0)
        else:
            assert expected == [], "calls without an answer"
            expected = [call["id"] for call in message.get("tool_calls") or ()]
    assert expected == [], "calls without an answer"


@pytest.mark.parametrize("death", DEATHS)
async def test_a_run_that_dies_at_any_one_commit_ends_as_if_nothing_had_happened(
    death: Harm, clean_store: Store, tmp_path: Path
) -> None:
    async with open_world(clean_store, tmp_path / "effects", from_script(ALL_FEATURES), stages=STAGES) as world:
        uncut, commits = await run_uncut(world)
        assert uncut.status == "completed"
        assert commits > 25
        for number in range(1, commits + 1):
            told = await check_run(world, [{number: death}], uncut)
            assert len(told) == (1 if number == commits and death is Harm.DIE_AFTER else 2)


@pytest.mark.parametrize("death", DEATHS)
async def test_agents_side_by_side_whose_run_dies_at_any_one_commit_end_as_if_nothing_had_happened(
    death: Harm, clean_store: Store, tmp_path: Path
) -> None:
    async with open_world(clean_store, tmp_path / "effects", from_script(SIDE_BY_SIDE), stages=CREWS) as world:
        uncut, commits = await run_uncut(world)
        assert (uncut.status, uncut.analysis, uncut.summary) == (
            "completed",
            "One side is dry.",
            SUMMARY.text,
        )
        assert [(name, status) for name, status, _ in uncut.work] == [
            ("look", "completed/completed"),
            ("look", "completed/completed"),
            ("look", "completed/failed"),
            ("look - Synthesis", "completed/completed"),
            ("act", "completed/completed"),
            ("act", "completed/completed"),
            ("act - Synthesis", "completed/completed"),
            ("Executive Summary", "completed/completed"),
        ]
        for number in range(1, commits + 1):
            await check_run(world, [{number: death}], uncut)


@pytest.mark.parametrize("loss", LOSSES)
async def test_agents_side_by_side_need_no_second_life_although_commits_fail_now_and_then(
    loss: Harm, clean_store: Store, tmp_path: Path
) -> None:
    async with open_world(clean_store, tmp_path / "effects", from_script(SIDE_BY_SIDE), stages=CREWS) as world:
        uncut, _ = await run_uncut(world)
        for plan in lose_now_and_then(loss):
            assert len(await check_run(world, [plan], uncut)) == 1


def lose_now_and_then(loss: Harm) -> list[Plan]:
    """Every third commit but the claim, in three plans that together strike them all."""
    return [dict.fromkeys(range(first, 200, 3), loss) for first in (2, 3, 4)]


@pytest.mark.parametrize("loss", LOSSES)
async def test_a_run_needs_no_second_life_although_commits_fail_now_and_then(
    loss: Harm, clean_store: Store, tmp_path: Path
) -> None:
    async with open_world(clean_store, tmp_path / "effects", from_script(ALL_FEATURES), stages=STAGES) as world:
        uncut, _ = await run_uncut(world)
        for plan in lose_now_and_then(loss):
            assert len(await check_run(world, [plan], uncut)) == 1


async def test_a_run_is_told_to_be_resumed_once_although_answers_are_lost(clean_store: Store, tmp_path: Path) -> None:
    async with open_world(clean_store, tmp_path / "effects", from_script(ALL_FEATURES), stages=STAGES) as world:
        uncut, _ = await run_uncut(world)
        for plan in lose_now_and_then(Harm.LOSE_ANSWER):
            assert len(await check_run(world, [{9: Harm.DIE_AFTER}, plan], uncut)) == 2
        async with clean_store.connect() as tx:
            resumed = await tx.fetch(
                "SELECT count(*) FROM timeline_events WHERE event_type = 'session_resumed' GROUP BY session_id"
            )
    assert [row["count"] for row in resumed] == [1, 1, 1]


async def test_a_claim_whose_answer_is_lost_is_made_again(clean_store: Store, tmp_path: Path) -> None:
    async with open_world(clean_store, tmp_path / "effects", from_script(ALL_FEATURES), stages=STAGES) as world:
        uncut, _ = await run_uncut(world)
        for loss in LOSSES:
            assert len(await check_run(world, [{1: loss}], uncut)) == 2


_TOOLS = st.sampled_from(("echo", "echo", "restart", "restart", "fail", "lookup", "nothing", "garbled"))
_TURNS = st.lists(
    st.tuples(st.lists(_TOOLS, max_size=3), st.booleans(), st.booleans()).map(lambda drawn: Drawn(*drawn)),
    min_size=1,
    max_size=5,
)
_HARMS = st.dictionaries(st.integers(1, 16), st.sampled_from(Harm), min_size=1, max_size=2)
_REFUSED = ScriptedTurn(error=ModelUnavailable("no key", code="credentials", retryable=False))


@dataclass(frozen=True, slots=True)
class Drawn:
    tools: Sequence[str]
    speaks: bool
    thinks: bool


def write_script(turns: Sequence[Drawn], *, fails: bool) -> list[ScriptedTurn]:
    script = [
        ScriptedTurn(
            text=f"I say {number}." if turn.speaks else "",
            thinking=f"I think {number}." if turn.thinks else "",
            calls=tuple(
                garbled(f"{number}-{index}") if tool == "garbled" else call(tool, f"{number}-{index}")
                for index, tool in enumerate(turn.tools)
            ),
        )
        for number, turn in enumerate(turns)
    ]
    return [*script, _REFUSED] if fails else script


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    turns=_TURNS,
    fails=st.booleans(),
    max_iterations=st.integers(1, 5),
    plans=st.lists(_HARMS, min_size=1, max_size=2),
    reads_count=st.booleans(),
)
async def test_any_run_harmed_at_any_commits_ends_as_if_nothing_had_happened(
    clean_store: Store,
    tmp_path_factory: pytest.TempPathFactory,
    *,
    turns: list[Drawn],
    fails: bool,
    max_iterations: int,
    plans: list[Plan],
    reads_count: bool,
) -> None:
    effects_file = tmp_path_factory.mktemp("run") / "effects"
    answer = by_turn(write_script(turns, fails=fails))
    stages = (stage("look", max_iterations=max_iterations),)
    async with open_world(clean_store, effects_file, answer, stages=stages) as world:
        uncut, _ = await run_uncut(world)
        await check_run(world, plans, uncut, reads_count=reads_count)


async def test_a_target_whose_change_has_an_unknown_outcome_is_left_alone_until_the_deadline(
    clean_store: Store, tmp_path: Path
) -> None:
    turns = [
        ScriptedTurn(calls=(call("restart", "one"),)),
        ScriptedTurn(calls=(call("restart", "two"), call("echo", "three"))),
        ScriptedTurn(text="I leave it."),
    ]
    stages = (stage("look", max_iterations=3),)
    async with open_world(clean_store, tmp_path / "effects", by_turn(turns), stages=stages) as world:
        _, commits = await run_uncut(world)
        session_id = await world.submit()
        while not world.effects():
            await world.live(CuttingPool(clean_store.pool, {commits_until_sent(commits): Harm.DIE_BEFORE}))
        await world.expire(deadlines=False)
        await world.live(CuttingPool(clean_store.pool))
        async with clean_store.connect() as tx:
            await check_session(tx, session_id, world.effects())
            ended = await read_end(tx, session_id)
            unverified = await tx.fetchval(
                "SELECT unverified_targets FROM alert_sessions WHERE session_id = $1", session_id
            )
    assert [(state, error) for _, _, state, error in ended.calls] == [
        ("unknown", "OUTCOME_UNKNOWN"),
        ("refused", "FSM_BLOCKED"),
        ("finished", None),
    ]
    assert ended.status == "completed"
    assert json.decode(unverified) == ["mcp:deck"], "the read came too early to tell what the change has done"


def commits_until_sent(commits: int) -> int:
    """Claim, stage, execution, opening, reply, start; the seventh commit finishes the first call."""
    assert commits > 7
    return 7


async def test_a_session_that_nobody_gets_further_with_is_given_up(clean_store: Store, tmp_path: Path) -> None:
    async with open_world(clean_store, tmp_path / "effects", by_turn([ScriptedTurn(text="Done.")])) as world:
        session_id = await world.submit()
        told = await world.live_on(session_id, [{2: Harm.DIE_BEFORE}] * 4)
        async with clean_store.connect() as tx:
            await check_session(tx, session_id, [])
            ended = await read_end(tx, session_id)
    assert ended.status == "failed"
    assert ended.error is not None
    assert ended.error.startswith("given up: 3 replicas in a row")
    assert len(told) == 5


async def test_a_stream_that_was_cut_is_closed_as_interrupted_and_streamed_anew(
    clean_store: Store, tmp_path: Path
) -> None:
    cut = LiveStream(new_id(), new_id(), new_id(), new_id(), TimelineType.LLM_RESPONSE, epoch=1)
    async with open_world(clean_store, tmp_path / "effects", by_turn([ScriptedTurn(text="All of it.")])) as world:
        session_id = await world.submit()
        await world.live(CuttingPool(clean_store.pool, {5: Harm.DIE_BEFORE}))
        cut.session_id = session_id
        async with clean_store.connect() as tx:
            cut.execution_id = await tx.fetchval(
                "SELECT execution_id FROM agent_executions WHERE session_id = $1", session_id
            )
        flusher = Flusher(clean_store, clock=lambda: 1_000.0)
        flusher.open_stream(cut)
        flusher.stream(cut, "All o")
        await flusher.flush()
        await world.expire()
        await world.live(CuttingPool(clean_store.pool))
        async with clean_store.connect() as tx:
            await check_session(tx, session_id, [])
            entries = await read_timeline(tx, session_id)
    assert [(entry["event_type"], entry["status"], entry["content"]) for entry in entries] == [
        ("llm_response", "interrupted", "All o"),
        ("session_resumed", "completed", "The investigation goes on where it had stopped."),
        ("llm_response", "completed", "All of it."),
        ("final_analysis", "completed", "All of it."),
        ("llm_response", "completed", SUMMARY.text),
        ("final_analysis", "completed", SUMMARY.text),
    ]
    assert entries[0]["event_id"] == cut.event_id


async def test_every_text_of_a_run_is_stored_once(clean_store: Store, tmp_path: Path) -> None:
    turns = [ScriptedTurn(thinking="Hm.", text="I look.", calls=(call("echo", "seen"),)), ScriptedTurn(text="Done.")]
    async with open_world(clean_store, tmp_path / "effects", by_turn(turns)) as world:
        session_id = await world.submit()
        await world.live(CuttingPool(clean_store.pool))
    async with clean_store.connect() as tx:
        rows = await tx.fetch("SELECT content FROM texts WHERE session_id = $1", session_id)
        contents = Counter(row["content"] for row in rows)
        opening = [text for text in contents if text.startswith("## ")]
        ended = await read_end(tx, session_id)
    assert len(opening) == 4
    assert contents == Counter([*opening, "Hm.", "I look.", "seen", "Done.", SUMMARY.text])
    assert ended.analysis == "Done."
