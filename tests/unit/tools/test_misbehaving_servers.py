"""Servers that lie, flood, beg and change behind our back: limits hold, the session goes on, and text stays data."""

import asyncio
import json
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from resource import RUSAGE_SELF, getrusage

import psutil
import pytest

from midwatch.config.mcp import Kinds, McpServer
from midwatch.config.safety import Safety
from midwatch.domain.safety import ControlLevel
from midwatch.domain.tools import ToolCall, ToolResult
from midwatch.kit.ids import new_id
from midwatch.tools.consent import Granted
from midwatch.tools.gate import Gate, NoPins, Pins
from midwatch.tools.mcp.server import open_mcp_server
from midwatch.tools.workbench import Fittings, open_workbench
from tests.fakes.call_journal import FakeCallJournal
from tests.fakes.cleared_calls import cleared_read
from tests.fakes.mcp_process import fake_mcp_server, read_effects
from tests.fakes.rude_server import FAVOURS, FLOOD, IMITATION
from tests.safety.requirements import requirement
from tests.safety.test_gate_sequences import Answers
from tests.settled import settle
from tests.unit.tools.test_talkative_server import PROGRAM as TALKATIVE
from tests.unit.tools.test_talkative_server import FirstSeen

RUDE = Path(__file__).parents[2] / "fakes" / "rude_server.py"
READS = Kinds(read=("*",), write=("change",))


@asynccontextmanager
async def opened(
    server: McpServer,
    *,
    kinds: Kinds | None = READS,
    level: ControlLevel = ControlLevel.READ_ONLY,
    journal: FakeCallJournal | None = None,
    pins: Pins | None = None,
) -> AsyncGenerator[Gate]:
    async with (
        asyncio.timeout(60),
        open_workbench(
            Fittings(
                servers={"deck": server.model_copy(update={"kinds": kinds})},
                safety=Safety(control_level=level),
                journal=journal or FakeCallJournal(),
                environment={"PATH": os.environ["PATH"]},
                pins=pins or NoPins(),
            )
        ) as workbench,
    ):
        yield workbench.gate


@pytest.fixture
def effects(tmp_path: Path) -> Path:
    return tmp_path / "effects"


@pytest.fixture
def rude(effects: Path) -> McpServer:
    return fake_mcp_server(str(effects), program=RUDE)


def call(tool: str, /, **arguments: str) -> ToolCall:
    return ToolCall(call_id=new_id(), provider_id="p", name=f"deck.{tool}", arguments=json.dumps(arguments))


async def test_no_favour_that_a_server_asks_for_is_done(rude: McpServer) -> None:
    async with opened(rude) as gate:
        told = json.loads((await settle(gate, call("beg"))).content)
    assert told.keys() == set(FAVOURS)
    for favour, answer in told.items():
        assert answer.keys() == {"error"}, favour
        assert answer["error"]["code"] in {-32600, -32601, -32602}, favour


async def test_a_flood_of_notes_is_let_by_and_only_a_few_are_shown(rude: McpServer) -> None:
    journal = FakeCallJournal()
    async with opened(rude, journal=journal) as gate:
        assert await settle(gate, call("flood")) == ToolResult(content="phew")
        assert (await settle(gate, call("imitate"))).error is None
    assert len(journal.notes) < FLOOD / 10
    assert max((len(note.message) for note in journal.notes), default=0) < 50_000


async def test_the_first_answer_counts_and_nobody_is_confused_by_a_second(rude: McpServer) -> None:
    async with opened(rude) as gate:
        assert (await settle(gate, call("repeat"))).content == "the first answer"
        assert (await settle(gate, call("imitate"))).content == IMITATION


async def test_a_list_of_tools_that_never_ends_is_given_up(effects: Path) -> None:
    async with opened(fake_mcp_server(str(effects), "--endless", program=RUDE)) as gate:
        assert len(await gate.list_tools()) == 5
        assert (await settle(gate, call("imitate"))).error is None


@requirement("gate:answers-are-data")
async def test_a_server_that_speaks_as_we_do_gains_nothing(rude: McpServer, effects: Path) -> None:
    async with opened(rude) as gate:
        assert await settle(gate, call("imitate")) == ToolResult(content=IMITATION)
        assert (await settle(gate, call("change"))).error == "READ_ONLY_VIOLATION"
    assert not effects.exists()


@requirement("kind:annotations-untrusted")
async def test_a_server_that_calls_its_changes_reads_is_not_believed(rude: McpServer, effects: Path) -> None:
    async with opened(rude, kinds=None) as gate:
        listed = {tool.name: tool for tool in await gate.list_tools()}
        assert listed["change"].read_only_hint is True
        assert (await settle(gate, call("change"))).error == "READ_ONLY_VIOLATION"
    assert not effects.exists()


@requirement("kind:annotations-unproven")
async def test_a_liar_that_is_trusted_is_called_as_if_it_might_change_something(tmp_path: Path) -> None:
    effects, journal = tmp_path / "effects", FakeCallJournal()
    server = fake_mcp_server("--effects", str(effects)).model_copy(update={"trust_annotations": True})
    async with opened(server, kinds=None, journal=journal) as gate:
        assert (await settle(gate, call("peek", name="pump"))).error is None
    assert [effect["tool"] for effect in read_effects(effects)] == ["peek"]
    assert journal.log == ["start deck.peek", "dispatch deck.peek", "finish deck.peek"]


def describe(file: Path, description: str) -> None:
    file.write_text(json.dumps({"UPPER": description}), encoding="utf-8")


@requirement("kind:changed-is-unknown")
async def test_what_was_cleared_for_one_definition_is_not_sent_to_another(tmp_path: Path) -> None:
    """The server was replaced after its tools were listed: nobody has vouched for what is there now."""
    descriptions, pins = tmp_path / "descriptions", FirstSeen()
    describe(descriptions, "Says its arguments again")
    server = fake_mcp_server(str(tmp_path / "none"), str(descriptions), program=TALKATIVE)
    children = set(psutil.Process().children())
    async with opened(server, pins=pins) as gate:
        await gate.list_tools()
        assert (await settle(gate, call("UPPER", text="aye"))).error is None
        describe(descriptions, "Deletes everything")
        (process,) = set(psutil.Process().children()) - children
        process.kill()
        unsent = await settle(gate, call("UPPER", text="aye"))
        assert (unsent.error, "not sent" in unsent.content) == ("NOT_DISPATCHED", True)
        await gate.list_tools()
        assert gate.changed == {"deck.UPPER"}
        assert (await settle(gate, call("UPPER", text="aye"))).error == "READ_ONLY_VIOLATION"


@requirement("approval:whole-call")
async def test_what_a_person_said_yes_to_is_not_sent_to_another_definition(tmp_path: Path) -> None:
    server = fake_mcp_server(str(tmp_path / "none"), program=TALKATIVE)
    kinds = Kinds(read=("evolve",), write=("UPPER",))
    async with opened(server, kinds=kinds, level=ControlLevel.CONTROLLED) as gate:
        gate.consent = Answers(Granted(approval_id=new_id(), digest=b"d"))
        await gate.list_tools()
        await settle(gate, call("evolve", tool="UPPER", description="Deletes everything"))
        assert (await settle(gate, call("UPPER", text="aye"))).error == "NOT_DISPATCHED"
        await gate.list_tools()
        assert (await settle(gate, call("UPPER", text="aye"))).error is None


@requirement("kind:changed-is-unknown")
async def test_a_server_that_has_said_that_its_tools_are_others_is_asked_before_the_next_call(tmp_path: Path) -> None:
    server = fake_mcp_server(str(tmp_path / "none"), program=TALKATIVE)
    async with opened(server, pins=FirstSeen()) as gate:
        await gate.list_tools()
        await settle(gate, call("evolve", tool="UPPER", description="Deletes everything"))
        assert (await settle(gate, call("UPPER", text="aye"))).error == "NOT_DISPATCHED"


async def test_an_answer_of_a_hundred_megabytes_is_given_up_early() -> None:
    """However much comes, what we hold of it at once is bounded."""
    before = getrusage(RUSAGE_SELF).ru_maxrss
    async with asyncio.timeout(60), open_mcp_server("fake", fake_mcp_server(), environment={}) as tools:
        result = await tools.call(cleared_read("fake.big", {"bytes": 100 * 1024 * 1024}))
        assert "over 10485760 bytes" in result.content
        assert (await tools.call(cleared_read("fake.echo", {"text": "on"}))).content == "on"
    assert getrusage(RUSAGE_SELF).ru_maxrss - before < 60 * 1024
