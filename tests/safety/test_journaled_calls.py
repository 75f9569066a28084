"""What is committed around a call, and when."""

import asyncio

import pytest

from midwatch.domain.errors import DispatchTooLate, LeaseLost, MidwatchError
from midwatch.domain.tools import Clearance, ClearedCall, Refusal, ToolCall, ToolKind, ToolResult
from midwatch.kit.ids import new_id
from midwatch.tools.journaled import Journaled
from midwatch.tools.summarised import Summarised
from tests.fakes.call_journal import FakeCallJournal
from tests.fakes.toolset import FakeToolset, define_tool
from tests.safety.requirements import requirement


class Bench:
    def __init__(self) -> None:
        self.journal = FakeCallJournal()
        self.tools = FakeToolset(define_tool("k8s.set"), log=self.journal.log)
        self.journaled = Journaled(inner=self.tools, journal=self.journal)


def cleared(kind: ToolKind = ToolKind.WRITE, *, proven: bool = True) -> ClearedCall:
    call = ToolCall(call_id=new_id(), provider_id="p", name="k8s.set", arguments="{}")
    clearance = Clearance(kind=kind, proven=proven, rule="r", targets=("mcp:k8s",), timeout=1)
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


@requirement("journal:start-refusal-stops")
async def test_a_start_that_is_refused_sends_nothing_and_is_the_result() -> None:
    bench = Bench()
    bench.journal.start_refusal = Refusal(code="FSM_BLOCKED", reason="r", hint="h")
    result = await bench.journaled.call(cleared())
    assert result.error == "FSM_BLOCKED"
    assert bench.journal.log == ["refuse k8s.set FSM_BLOCKED"]


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
