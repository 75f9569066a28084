"""What an execution does is counted when it is committed, and once, whatever happens around the commit."""

from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path

import pytest

from midwatch.domain.errors import Draining, LeaseLost
from midwatch.domain.tools import Clearance, ClearedCall, Refusal, ToolCall, ToolDefinition, ToolKind, ToolResult
from midwatch.kit.ids import new_id
from midwatch.llm.scripted import ScriptedCall, ScriptedTurn
from midwatch.safety.claims.inspection import inspect
from midwatch.safety.machine import Machine, Outcome, Ticket
from midwatch.safety.resources import Resource
from midwatch.safety.session import SessionSafety
from midwatch.safety.targets import Target
from midwatch.store.engine import Store
from midwatch.store.fence import Fence
from midwatch.store.runs import NewExecution
from midwatch.telemetry.metrics import Metrics
from midwatch.timeline.flush import Flusher
from midwatch.timeline.record import ExecutionRecorder
from midwatch.timeline.run import RunLog
from tests.fakes.cutting_pool import CuttingPool, Harm
from tests.fakes.openai_server import from_script
from tests.lives import World, open_world
from tests.safety.requirements import requirement
from tests.scraping import Samples, read_samples
from tests.stored import add_execution, add_running, request_call

REFUSED = "midwatch_ai_refusals_total"
READ_ONLY = Refusal(code="READ_ONLY_VIOLATION", reason="no", hint="look")
ONCE = {("READ_ONLY_VIOLATION", "deck.restart"): 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One execution whose model asks for calls of `deck.restart`."""

    store: Store
    execution: NewExecution
    run: RunLog
    recorder: ExecutionRecorder
    metrics: Metrics
    places: "count[int]" = field(default_factory=lambda: count(10))

    async def ask(self) -> ToolCall:
        place = next(self.places)
        call = await request_call(self.store, self.run.fence, self.execution, index=place)
        self.recorder.adopt_call(call, sequence_number=place, event_id=new_id())
        return call

    async def refuse(self, refusal: Refusal) -> None:
        await self.recorder.refuse(await self.ask(), refusal)

    async def finish(self, *, error: str | None = None) -> None:
        tool = ToolDefinition(server="deck", name="restart", description="", schema={})
        clearance = Clearance(kind=ToolKind.WRITE, proven=True, rule="test", targets=(), timeout=60)
        cleared = ClearedCall(call=await self.ask(), tool=tool, arguments={}, clearance=clearance)
        await self.recorder.finish(cleared, ToolResult(content="done", error=error))

    def scrape(self) -> Samples:
        return read_samples((self.metrics.render() or b"").decode())


async def open_scene(store: Store, *, harm: Harm | None = None) -> Scene:
    """`harm` strikes at the first commit of the recorder."""
    fence, metrics = await add_running(store), Metrics()
    execution = await add_execution(store, fence)
    pool = CuttingPool(store.pool, {} if harm is None else {1: harm})
    run = RunLog(
        store=replace(store, pool=pool),
        flusher=Flusher(store),
        fence=fence,
        check_lease=lambda: None,
        checkpoint=lambda: None,
        meters=metrics,
    )
    recorder = ExecutionRecorder(run=run, stage_id=execution.stage_id, execution_id=execution.execution_id)
    return Scene(store=store, execution=execution, run=run, recorder=recorder, metrics=metrics)


@requirement("telemetry:refusal-counted-once")
@pytest.mark.parametrize("harm", [None, Harm.LOSE_QUESTION, Harm.LOSE_ANSWER])
async def test_a_refusal_is_counted_once_however_often_its_commit_is_tried(
    clean_store: Store, harm: Harm | None
) -> None:
    scene = await open_scene(clean_store, harm=harm)
    await scene.refuse(READ_ONLY)
    assert scene.scrape().of(REFUSED) == ONCE


@requirement("telemetry:refusal-counted-once")
async def test_a_refusal_after_which_the_run_goes_on_elsewhere_is_counted_here(clean_store: Store) -> None:
    """Whoever goes on finds it settled and will not decide on it again."""
    scene = await open_scene(clean_store)
    scene.run.halt()
    with pytest.raises(Draining):
        await scene.refuse(READ_ONLY)
    assert scene.scrape().of(REFUSED) == ONCE


@requirement("telemetry:refusal-counted-once")
async def test_a_refusal_that_could_not_be_committed_is_not_counted(clean_store: Store) -> None:
    scene = await open_scene(clean_store)
    call = await scene.ask()
    scene.run.fence = Fence(session_id=scene.run.session_id, epoch=scene.run.fence.epoch + 1)
    with pytest.raises(LeaseLost):
        await scene.recorder.refuse(call, READ_ONLY)
    assert scene.scrape().of(REFUSED) == {}


def garbled(mark: str) -> ScriptedCall:
    return ScriptedCall(name="deck.restart", arguments=f"{{{mark}")


SCRIPT = (
    ScriptedTurn(calls=(garbled("a"), ScriptedCall(name="deck.nothing", arguments={}))),
    ScriptedTurn(calls=(garbled("b"),)),
    ScriptedTurn(text="The pump ran dry."),
)


async def count_refused_rows(world: World) -> int:
    async with world.store.connect() as tx:
        return await tx.fetchval("SELECT count(*) FROM tool_calls WHERE state = 'refused'")


@requirement("telemetry:refusal-counted-once")
async def test_a_run_that_is_taken_up_again_counts_what_is_left_and_nothing_twice(
    clean_store: Store, tmp_path: Path
) -> None:
    metrics = Metrics()
    async with open_world(clean_store, tmp_path / "effects", from_script(SCRIPT)) as opened:
        world = replace(opened, meters=metrics)
        for commit in range(5, 12):
            await world.live_on(await world.submit(), [{commit: Harm.DIE_BEFORE}, {3: Harm.LOSE_ANSWER}])
        rows = await count_refused_rows(world)
    samples = read_samples((metrics.render() or b"").decode())
    assert rows == 3 * 7
    assert samples.total(REFUSED) == rows


def look(machine: Machine, target: str) -> None:
    ticket = machine.begin(ToolKind.READ, [target])
    assert isinstance(ticket, Ticket)
    machine.end(ticket, Outcome.SUCCEEDED)


def refuse_second_change() -> Refusal:
    machine = Machine()
    look(machine, "web")
    ticket = machine.begin(ToolKind.WRITE, ["web"])
    assert isinstance(ticket, Ticket)
    machine.end(ticket, Outcome.SUCCEEDED)
    refusal = machine.refuse(ToolKind.WRITE, ["web"])
    assert refusal is not None
    return refusal


def refuse_unfound() -> Refusal:
    refusal = SessionSafety().refuse([Target(id="vm:9")], kind=ToolKind.WRITE, action="restart")
    assert refusal is not None
    return refusal


def refuse_astray() -> Refusal:
    safety = SessionSafety()
    homepage = Resource(kind="lxc", host="delly", uid="141", name="homepage")
    safety.context.add([homepage])
    safety.context.mean(homepage)
    refusal = safety.refuse([Target(id="node:delly")], kind=ToolKind.WRITE, action="restart")
    assert refusal is not None
    return refusal


@requirement("telemetry:refusal-counted-once")
async def test_what_the_safety_of_a_session_refuses_is_counted_with_its_particulars(clean_store: Store) -> None:
    scene = await open_scene(clean_store)
    for refusal in (refuse_second_change(), refuse_unfound(), refuse_astray()):
        await scene.refuse(refusal)
    samples = scene.scrape()
    assert samples.total(REFUSED) == 3
    blocked = {"state": "VERIFYING", "tool": "deck.restart", "kind": "write"}
    assert samples.value("midwatch_ai_fsm_tool_block_total", **blocked) == 1
    assert samples.value("midwatch_ai_strict_resolution_block_total", tool="deck.restart", action="restart") == 1
    astray = {"tool": "deck.restart", "target_kind": "node", "child_kind": "lxc"}
    assert samples.value("midwatch_ai_routing_mismatch_block_total", **astray) == 1


ATTEMPTS = "midwatch_ai_auto_recovery_attempt_total"
SUCCESSES = "midwatch_ai_auto_recovery_success_total"
RECOVERABLE = {"error_code": "FSM_BLOCKED", "tool": "deck.restart"}


@requirement("telemetry:recovery-same-labels")
async def test_a_refusal_that_the_model_put_right_is_a_success_under_the_labels_of_its_attempt(
    clean_store: Store,
) -> None:
    scene = await open_scene(clean_store)
    await scene.refuse(refuse_second_change())
    await scene.finish(error="TOOL_ERROR")
    before = scene.scrape()
    await scene.finish()
    await scene.finish()
    after = scene.scrape()
    assert before.value(ATTEMPTS, **RECOVERABLE) == 1
    assert before.total(SUCCESSES) == 0
    assert after.of(SUCCESSES) == after.of(ATTEMPTS) == before.of(ATTEMPTS)


@requirement("telemetry:recovery-same-labels")
async def test_a_refusal_that_no_model_can_put_right_is_no_attempt(clean_store: Store) -> None:
    scene = await open_scene(clean_store)
    await scene.refuse(READ_ONLY)
    await scene.finish()
    samples = scene.scrape()
    assert samples.total(ATTEMPTS) == samples.total(SUCCESSES) == 0


async def test_a_refused_conclusion_and_a_phantom_are_counted(clean_store: Store) -> None:
    scene = await open_scene(clean_store)
    machine = Machine()
    machine.begin(ToolKind.WRITE, ["web"], found=["web"])
    refusal = machine.refuse_conclusion()
    assert refusal is not None
    inspection = inspect("I restarted nginx. I deleted the pod.", deeds=(), evidence=())
    tally = scene.recorder.tally
    tally.model = ("openai", "gpt")
    tally.count_withdrawal(refusal)
    tally.count_withdrawal(inspection)
    tally.count_correction()
    samples = scene.scrape()
    phantom = {"error_code": "PHANTOM_CLAIM", "tool": "conclusion"}
    assert samples.value("midwatch_ai_fsm_final_block_total", state="WRITING") == 1
    assert samples.value("midwatch_ai_phantom_detected_total", provider="openai", model="gpt") == 1
    assert samples.value("midwatch_ai_claims_total", kind="action") == 2
    assert samples.value(ATTEMPTS, **phantom) == samples.value(SUCCESSES, **phantom) == 1
