"""What is committed around a call, and when."""

import asyncio
from typing import Any

import pytest

from midwatch.domain.errors import DispatchTooLate, LeaseLost, MidwatchError
from midwatch.domain.tools import Clearance, ClearedCall, Refusal, Ticket, ToolCall, ToolKind, ToolResult
from midwatch.kit.ids import new_id
from midwatch.safety.machine import Machine, Outcome, Phase
from midwatch.safety.session import SessionSafety
from midwatch.safety.targets import Target
from midwatch.tools.inflight import CallsInFlight
from midwatch.tools.journaled import Journaled
from midwatch.tools.summarised import Summarised
from tests.fakes.call_journal import FakeCallJournal
from tests.fakes.stepped_clock import SteppedClock
from tests.fakes.toolset import FakeToolset, define_tool
from tests.safety.requirements import requirement


class Bench:
    def __init__(self) -> None:
        self.journal = FakeCallJournal()
        self.tools = FakeToolset(define_tool("k8s.set"), log=self.journal.log)
        self.calls = CallsInFlight()
        self.clock = SteppedClock()
        self.safety = SessionSafety(machine=Machine(clock=self.clock))
        self.journaled = Journaled(inner=self.tools, journal=self.journal, calls=self.calls, safety=self.safety)

    async def end_in_flight(self, entered: ClearedCall) -> ToolResult:
        """A person ends the call once it has been sent."""
        self.tools.released.clear()
        async with asyncio.timeout(60), asyncio.TaskGroup() as group:
            running = group.create_task(self.journaled.call(entered))
            await self.tools.arrived.acquire()
            self.calls.cancel(entered.call.call_id)
        return running.result()

    def enter(self, kind: ToolKind) -> ClearedCall:
        """A call as the gate sends it: the session knows that it is under way."""
        target = Target(id="mcp:k8s")
        ticket = self.safety.begin([target], kind=kind, action="set")
        assert isinstance(ticket, Ticket)
        return cleared(kind, ticket=ticket)


def cleared(kind: ToolKind = ToolKind.WRITE, *, proven: bool = True, **facts: Any) -> ClearedCall:
    call = ToolCall(call_id=new_id(), provider_id="p", name="k8s.set", arguments="{}")
    clearance = Clearance(kind=kind, proven=proven, rule="r", targets=("mcp:k8s",), timeout=30, **facts)
    return ClearedCall(call=call, tool=define_tool(call.name), arguments={}, clearance=clearance)


STARTED = ["start k8s.set", "dispatch k8s.set", "run k8s.set", "finish k8s.set"]


@requirement("journal:write-started-first", "journal:unproven-read-started", "journal:proven-read-not-started")
@pytest.mark.parametrize(
    ("kind", "proven", "expected"),
    [
        (ToolKind.WRITE, True, STARTED),
        (ToolKind.WRITE, False, STARTED),
        (ToolKind.READ, False, STARTED),
        (ToolKind.RESOLVE, False, STARTED),
        (ToolKind.ASK, True, STARTED),
        (ToolKind.READ, True, STARTED[1:]),
        (ToolKind.RESOLVE, True, STARTED[1:]),
    ],
)
async def test_everything_but_a_proven_read_is_started_before_it_is_sent(
    kind: ToolKind,
    proven: bool,  # noqa: FBT001 - a parameter
    expected: list[str],
) -> None:
    bench = Bench()
    await bench.journaled.call(cleared(kind, proven=proven))
    assert bench.journal.log == expected


@requirement("approval:single-use")
async def test_a_look_that_took_a_persons_yes_is_started_since_it_must_not_run_again() -> None:
    bench = Bench()
    await bench.journaled.call(cleared(ToolKind.READ, approval_id=new_id()))
    assert bench.journal.log == STARTED


@requirement("journal:start-refusal-stops")
async def test_a_start_that_is_refused_sends_nothing_and_is_the_result() -> None:
    bench = Bench()
    bench.journal.start_refusal = Refusal(code="FSM_BLOCKED", reason="r", hint="h")
    result = await bench.journaled.call(cleared(risk="high"))
    assert result.error == "FSM_BLOCKED"
    assert bench.journal.log == ["refuse k8s.set FSM_BLOCKED"]
    assert bench.journal.judged == [
        {"kind": "write", "rule": "r", "risk": "high", "policy_rule": "journal:FSM_BLOCKED"}
    ]


@requirement("journal:person-ends-one-call", "gate:outcomes")
async def test_a_change_that_a_person_ends_has_an_unknown_outcome_and_holds_its_target() -> None:
    bench = Bench()
    entered = bench.enter(ToolKind.WRITE)
    result = await bench.end_in_flight(entered)
    assert (result.error, "unknown" in result.content) == ("CANCELLED_BY_PERSON", True)
    assert bench.journal.unknown == [(entered.call, result)]
    assert bench.journal.finished == []
    bench.clock.step(29)
    assert bench.safety.machine.phase_of("mcp:k8s") is Phase.WRITING
    bench.clock.step(1)
    assert bench.safety.machine.phase_of("mcp:k8s") is Phase.VERIFYING


@requirement("journal:person-ends-one-call", "gate:outcomes")
async def test_a_look_that_a_person_ends_is_finished_and_has_shown_nothing() -> None:
    bench = Bench()
    entered = bench.enter(ToolKind.READ)
    result = await bench.end_in_flight(entered)
    assert (result.error, "unknown" in result.content) == ("CANCELLED_BY_PERSON", False)
    assert bench.journal.finished == [(entered, result)]
    assert entered.clearance.ticket is not None
    bench.safety.end(entered.clearance.ticket, Outcome.SUCCEEDED)
    assert bench.safety.machine.phase_of("mcp:k8s") is Phase.RESOLVING, "what has ended ends once"


@requirement("journal:dispatch-guarded")
@pytest.mark.parametrize("kind", [ToolKind.WRITE, ToolKind.READ])
@pytest.mark.parametrize("failure", [LeaseLost(), DispatchTooLate()])
async def test_a_call_that_is_no_longer_ours_to_send_is_not_sent(kind: ToolKind, failure: MidwatchError) -> None:
    bench = Bench()
    bench.journal.dispatch_failure = failure
    with pytest.raises(type(failure)):
        await bench.journaled.call(cleared(kind))
    assert bench.tools.calls == []
    assert bench.journal.finished == []


@requirement("journal:dispatch-guarded")
async def test_the_guard_of_one_call_does_not_answer_for_another() -> None:
    mine, other = Bench(), Bench()
    other.tools.released.clear()
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        group.create_task(other.journaled.call(cleared()))
        await other.tools.arrived.acquire()
        await mine.journaled.call(cleared())
        other.tools.released.set()
    assert mine.journal.log.count("dispatch k8s.set") == 1
    assert other.journal.log.count("dispatch k8s.set") == 1


@requirement("journal:finished-before-read")
async def test_the_result_is_committed_before_it_is_returned() -> None:
    bench = Bench()
    bench.tools.results["k8s.set"] = ToolResult(content="no", error="TOOL_ERROR")
    result = await bench.journaled.call(cleared())
    ((_, finished),) = bench.journal.finished
    assert finished is result


@requirement("journal:cancelled-stays-open")
async def test_a_call_cancelled_while_it_runs_stays_started() -> None:
    bench = Bench()
    bench.tools.released.clear()
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        running = group.create_task(bench.journaled.call(cleared()))
        await bench.tools.arrived.acquire()
        running.cancel()
    assert running.cancelled()
    assert bench.journal.log == ["start k8s.set", "dispatch k8s.set", "run k8s.set"]


async def test_the_wrappers_list_what_is_inside_and_summarising_passes_results_as_they_are() -> None:
    bench = Bench()
    summarised = Summarised(inner=bench.journaled)
    assert await summarised.list_tools() == bench.tools.tools
    expected = ToolResult(content="x" * 100_000)
    bench.tools.results["k8s.set"] = expected
    assert await summarised.call(cleared()) is expected
