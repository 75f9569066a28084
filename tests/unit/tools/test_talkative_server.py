"""A server that talks while it works and changes its tools, through the whole workbench."""

import asyncio
import os
from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from midwatch.config.mcp import Kinds
from midwatch.config.safety import Safety
from midwatch.domain.safety import ControlLevel
from midwatch.domain.tools import CallNote, ClearedCall, ToolCall, ToolDefinition
from midwatch.kit.ids import new_id
from midwatch.kit.json import encode_text
from midwatch.safety.pins import take_fingerprint
from midwatch.tools.gate import Gate
from midwatch.tools.inflight import CallsInFlight
from midwatch.tools.workbench import Fittings, open_workbench
from tests.fakes.call_journal import FakeCallJournal
from tests.fakes.mcp_process import fake_mcp_server
from tests.fakes.talkative_server import ODD_NAMES
from tests.safety.requirements import requirement
from tests.settled import settle

PROGRAM = Path(__file__).parents[2] / "fakes" / "talkative_server.py"
READS = Kinds(read=("*",))


class WatchedJournal(FakeCallJournal):
    """Tells when something was shown."""

    def __init__(self) -> None:
        super().__init__()
        self.shown = asyncio.Semaphore(0)

    def show_note(self, cleared: ClearedCall, note: CallNote) -> None:
        super().show_note(cleared, note)
        self.shown.release()


class FirstSeen:
    """Pins in memory."""

    def __init__(self) -> None:
        self.known: dict[str, str] = {}

    async def find_changed(self, tools: Sequence[ToolDefinition]) -> Collection[str]:
        return [
            tool.full_name
            for tool in tools
            if self.known.setdefault(tool.full_name, take_fingerprint(tool)) != take_fingerprint(tool)
        ]


@asynccontextmanager
async def opened(
    journal: FakeCallJournal, *, kinds: Kinds = READS, calls: CallsInFlight | None = None
) -> AsyncGenerator[Gate]:
    server = fake_mcp_server(program=PROGRAM).model_copy(update={"kinds": kinds})
    async with (
        asyncio.timeout(60),
        open_workbench(
            Fittings(
                servers={"deck": server},
                safety=Safety(control_level=ControlLevel.AUTONOMOUS),
                journal=journal,
                environment={"PATH": os.environ["PATH"]},
                pins=FirstSeen(),
                calls=calls or CallsInFlight(),
            )
        ) as workbench,
    ):
        yield workbench.gate


def call(name: str, **arguments: str) -> ToolCall:
    return ToolCall(call_id=new_id(), provider_id="p", name=f"deck.{name}", arguments=encode_text(arguments))


@pytest.mark.parametrize("name", ODD_NAMES)
async def test_a_tool_may_be_called_anything(name: str) -> None:
    async with opened(FakeCallJournal()) as gate:
        assert name in [tool.name for tool in await gate.list_tools()]
        assert (await settle(gate, call(name, text="aye"))).content == '{"text": "aye"}'


@requirement("kind:pinned-definition", "kind:changed-is-unknown")
async def test_a_list_that_changes_is_listed_anew_and_a_changed_tool_is_a_write() -> None:
    journal = FakeCallJournal()
    async with opened(journal) as gate:
        await gate.list_tools()
        await settle(gate, call("UPPER", text="aye"))
        await settle(gate, call("evolve", tool="UPPER", description="Deletes everything"))
        told = {tool.name: tool.description for tool in await gate.list_tools()}
        assert told["UPPER"] == "Deletes everything"
        assert gate.changed == {"deck.UPPER"}
        await settle(gate, call("UPPER", text="aye"))
        await settle(gate, call("evolve", tool="UPPER", description="Says its arguments again"))
        await gate.list_tools()
        assert not gate.changed
    assert [cleared.call.name for cleared in journal.started] == ["deck.UPPER"]
    assert journal.started[0].clearance.rule == "pin:changed"


@requirement("mask:live-notes")
async def test_what_a_tool_says_while_it_works_is_shown_masked_and_not_kept(tmp_path: Path) -> None:
    journal, done = WatchedJournal(), tmp_path / "done"
    async with opened(journal) as gate, asyncio.TaskGroup() as group:
        work = group.create_task(settle(gate, call("work", until=str(done))))
        await journal.shown.acquire()
        await journal.shown.acquire()
        done.touch()
        result = await work
    progress, log = journal.notes[:2]
    assert progress == CallNote(message="password=[MASKED_PASSWORD]", progress=1.0, total=4.0)
    assert log == CallNote(message="still at it", level="info")
    assert "still at it" not in result.content


@requirement("journal:person-ends-one-call")
async def test_a_person_ends_one_read_and_the_rest_goes_on(tmp_path: Path) -> None:
    journal, calls, work = WatchedJournal(), CallsInFlight(), call("work", until=str(tmp_path / "never"))
    async with opened(journal, calls=calls) as gate, asyncio.TaskGroup() as group:
        running = group.create_task(settle(gate, work))
        await journal.shown.acquire()
        calls.cancel(work.call_id)
        ended = await running
        assert (await settle(gate, call("UPPER", text="aye"))).content == '{"text": "aye"}'
    assert ended.error == "CANCELLED_BY_PERSON"
    assert "unknown" not in ended.content
    assert journal.log[:2] == ["dispatch deck.work", "finish deck.work"]


@requirement("journal:person-ends-one-call")
async def test_a_change_that_a_person_ends_has_an_unknown_outcome(tmp_path: Path) -> None:
    journal, calls, work = WatchedJournal(), CallsInFlight(), call("work", until=str(tmp_path / "never"))
    async with opened(journal, kinds=Kinds(write=("*",)), calls=calls) as gate, asyncio.TaskGroup() as group:
        running = group.create_task(settle(gate, work))
        await journal.shown.acquire()
        calls.cancel(work.call_id)
        ended = await running
    assert ended.error == "CANCELLED_BY_PERSON"
    assert "unknown" in ended.content
    assert journal.log == ["start deck.work", "dispatch deck.work", "unknown deck.work"]


@requirement("journal:person-ends-one-call")
async def test_a_call_that_was_ended_before_its_turn_is_never_sent() -> None:
    journal, calls, asked = FakeCallJournal(), CallsInFlight(), call("UPPER", text="aye")
    async with opened(journal, calls=calls) as gate:
        calls.cancel(asked.call_id)
        assert (await settle(gate, asked)).error == "CANCELLED_BY_PERSON"
    assert journal.log == ["refuse deck.UPPER CANCELLED_BY_PERSON"]
