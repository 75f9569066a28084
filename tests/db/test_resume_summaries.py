"""Whoever dies while a result is being summed up: no call is made again, and the model reads what is journalled."""

from collections.abc import Sequence
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from midwatch.config.mcp import Summarization
from midwatch.domain.errors import ModelUnavailable
from midwatch.llm.scripted import ScriptedCall, ScriptedTurn
from midwatch.store.engine import Store
from tests.db.test_resume import DEATHS, LOSSES, Ended, check_executions, compare_ends, lose_now_and_then, read_end
from tests.fakes.cutting_pool import CuttingPool, Harm
from tests.fakes.openai_server import Body, Reply, Status, from_script
from tests.invariants import check_session, read_calls
from tests.lives import Plan, Told, World, stage
from tests.long_results import SHORTENER, call, open_long_world, read_answers

LOW = Summarization(size_threshold_tokens=100, summary_max_token_limit=50)
STAGES = (stage("look", model="first"),)


def echo(mark: str) -> ScriptedCall:
    return call("echo", text=mark * 300)


SCRIPT = {
    "first": [
        ScriptedTurn(
            thinking="Look first.",
            text="I look around.",
            calls=(echo("a1"), call("echo", text="short"), call("restart", name="b1" * 300), echo("a2")),
        ),
        ScriptedTurn(calls=(echo("c1"), echo("c2"))),
        ScriptedTurn(text="The pump ran dry."),
    ],
    SHORTENER: [ScriptedTurn(text="Much was said.")],
}


def refuse_summaries(body: Body) -> Reply:
    return Status(status=401) if "TOOL_OUTPUT" in body["messages"][-1]["content"] else from_script(SCRIPT)(body)


async def live(world: World, plans: Sequence[Plan] = (), *, reads_count: bool = False) -> tuple[Ended, list[Told]]:
    """The session is run under these plans; the journal is whole, and the model has read what it says."""
    world.model.requests.clear()
    world.effects_file.unlink(missing_ok=True)
    session_id = await world.submit()
    told = await world.live_on(session_id, plans, reads_count=reads_count)
    async with world.store.connect() as tx:
        await check_session(tx, session_id, world.effects())
        ended = await read_end(tx, session_id)
        calls = await read_calls(tx, session_id)
    check_executions(calls, told)
    await check_answers_read(world, session_id)
    return ended, told


async def check_answers_read(world: World, session_id: UUID) -> None:
    answers = await read_answers(world.store, session_id)
    for request in world.model.requests:
        if request.body["model"] == "first":
            read = [message["content"] for message in request.body["messages"] if message["role"] == "tool"]
            assert read == answers[: len(read)]


async def count_commits(world: World) -> int:
    await world.submit()
    pool = CuttingPool(world.store.pool)
    await world.live(pool)
    return pool.commits


@pytest.mark.parametrize("death", DEATHS)
async def test_a_run_that_dies_at_any_one_commit_sums_up_what_it_had_found(
    death: Harm, clean_store: Store, tmp_path: Path
) -> None:
    async with open_long_world(clean_store, tmp_path, SCRIPT, stages=STAGES, summarization=LOW) as world:
        uncut, _ = await live(world)
        assert uncut.status == "completed"
        assert sum("Below is a summary" in (message[1] or "") for message in uncut.messages) == 5
        for number in range(1, await count_commits(world) + 1):
            ended, _ = await live(world, [{number: death}])
            compare_ends(ended, uncut)


async def test_a_run_that_dies_while_nothing_can_be_summed_up_reads_the_results_themselves(
    clean_store: Store, tmp_path: Path
) -> None:
    async with open_long_world(clean_store, tmp_path, refuse_summaries, stages=STAGES, summarization=LOW) as world:
        uncut, _ = await live(world)
        assert sum("could not be summed up" in (message[1] or "") for message in uncut.messages) == 5
        for number in range(6, await count_commits(world) + 1, 2):
            ended, _ = await live(world, [{number: Harm.DIE_AFTER}])
            compare_ends(ended, uncut)


@pytest.mark.parametrize("loss", LOSSES)
async def test_a_summary_is_stored_once_although_commits_fail_now_and_then(
    loss: Harm, clean_store: Store, tmp_path: Path
) -> None:
    async with open_long_world(clean_store, tmp_path, SCRIPT, stages=STAGES, summarization=LOW) as world:
        uncut, _ = await live(world)
        for plan in lose_now_and_then(loss):
            ended, told = await live(world, [plan])
            compare_ends(ended, uncut)
            assert len(told) == 1


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    plans=st.lists(
        st.dictionaries(st.integers(5, 24), st.sampled_from(Harm), min_size=1, max_size=2), min_size=1, max_size=2
    ),
    reads_count=st.booleans(),
    sizes=st.lists(st.sampled_from((10, 150, 8_000)), min_size=1, max_size=3),
    can_sum_up=st.booleans(),
)
async def test_any_run_harmed_at_any_commits_reads_the_same(
    clean_store: Store,
    tmp_path_factory: pytest.TempPathFactory,
    *,
    plans: list[Plan],
    reads_count: bool,
    sizes: list[int],
    can_sum_up: bool,
) -> None:
    calls = tuple(call("echo", text=f"{number:04}" * size) for number, size in enumerate(sizes))
    turn = ScriptedTurn(text="Much was said.")
    if not can_sum_up:
        turn = ScriptedTurn(error=ModelUnavailable("no key", code="credentials", retryable=False))
    script = {"first": [ScriptedTurn(calls=calls), ScriptedTurn(text="Done.")], SHORTENER: [turn]}
    folder = tmp_path_factory.mktemp("run")
    async with open_long_world(clean_store, folder, script, stages=STAGES, summarization=LOW) as world:
        uncut, _ = await live(world)
        ended, _ = await live(world, plans, reads_count=reads_count)
        compare_ends(ended, uncut)
