"""How far one session with a tool server reaches: an execution, an investigation, or all that a replica does."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from midwatch.config.mcp import OURSELVES, Kinds, McpServer, StdioTransport
from midwatch.config.safety import Safety
from midwatch.domain.errors import LeaseLost
from midwatch.domain.tools import ToolCall
from midwatch.kit.ids import new_id
from midwatch.tools.gate import Gate
from midwatch.tools.workbench import Fittings, Opening, Scopes, Workbench, open_server_scope, open_workbench
from tests.fakes.call_journal import FakeCallJournal
from tests.fakes.mcp_process import FAKE_SERVER, fake_mcp_server, running_fakes
from tests.fakes.mcp_remote import read_requests, serve_remotely
from tests.settled import settle
from tests.waiting import eventually

# Comes up only when all the others are on their way as well.
WAITS_FOR_ALL = """
import os, pathlib, sys, time
mine, folder, count, server = sys.argv[1:]
(pathlib.Path(folder) / mine).touch()
while len(os.listdir(folder)) < int(count):
    time.sleep(0.005)
os.execv(sys.executable, [sys.executable, server])
"""

FLOODS_STDERR = """
import os, sys
os.write(2, b"x" * 5_000_000)
os.execv(sys.executable, [sys.executable, sys.argv[1]])
"""

FORKS_AND_SERVES = """
import os, signal, sys, time
if os.fork() == 0:
    if sys.argv[2] == "leaving its group":
        os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(600)
os.execv(sys.executable, [sys.executable, sys.argv[1]])
"""


def deck(**changes: Any) -> McpServer:
    return fake_mcp_server().model_copy(update={"kinds": Kinds(read=("*",)), **changes})


def program(source: str, *args: str) -> McpServer:
    transport = StdioTransport(type="stdio", command=sys.executable, args=("-c", source, *args))
    return McpServer(transport=transport, kinds=Kinds(read=("*",)), run_as=OURSELVES)


def call(name: str, **arguments: object) -> ToolCall:
    return ToolCall(call_id=new_id(), provider_id="p", name=name, arguments=json.dumps(arguments))


async def pid_of(gate: Gate, name: str = "deck") -> int:
    return int((await settle(gate, call(f"{name}.pid"))).content)


@asynccontextmanager
async def bench(scopes: Scopes | None = None, **servers: McpServer) -> AsyncGenerator[Workbench]:
    async with (
        asyncio.timeout(60),
        open_workbench(
            Fittings(
                servers=servers,
                safety=Safety(),
                journal=FakeCallJournal(),
                environment={},
                scopes=scopes or Scopes(),
                execution_id="e",
            )
        ) as workbench,
    ):
        yield workbench


@pytest.mark.parametrize(
    ("changes", "is_kept"), [({}, True), ({"isolation": "investigation"}, True), ({"isolation": "execution"}, False)]
)
async def test_an_investigations_executions_share_a_session_unless_it_is_isolated(
    *, changes: dict[str, Any], is_kept: bool
) -> None:
    async with open_server_scope(Opening(environment={})) as investigation:
        pids: list[int] = []
        for _ in range(2):
            async with bench(Scopes(investigation=investigation), deck=deck(**changes)) as workbench:
                pids.append(await pid_of(workbench.gate))
        assert (pids[0] == pids[1]) is is_kept
        assert len(running_fakes()) == is_kept
    assert running_fakes() == []


async def test_a_shared_server_outlives_investigations_and_its_own_death() -> None:
    async with open_server_scope(Opening(environment={})) as replica:
        pids: list[int] = []
        for _ in range(3):
            async with open_server_scope(Opening(environment={})) as investigation:
                scopes = Scopes(replica=replica, investigation=investigation)
                async with bench(scopes, deck=deck(shared=True)) as workbench:
                    pids.append(await pid_of(workbench.gate))
            if len(pids) == 2:
                psutil.Process(pids[1]).kill()
        assert pids[0] == pids[1] != pids[2]
    assert running_fakes() == []


async def test_two_executions_at_once_open_a_server_once() -> None:
    async with open_server_scope(Opening(environment={})) as investigation:
        scopes = Scopes(investigation=investigation)
        async with bench(scopes, deck=deck()) as one, bench(scopes, deck=deck()) as two:
            async with asyncio.TaskGroup() as group:
                pids = [group.create_task(pid_of(workbench.gate)) for workbench in (one, two)]
            assert pids[0].result() == pids[1].result()


async def test_a_server_that_was_down_is_tried_again_by_the_next_execution(tmp_path: Path) -> None:
    script = tmp_path / "server.py"
    server = fake_mcp_server(program=script)
    async with open_server_scope(Opening(environment={})) as investigation:
        scopes = Scopes(investigation=investigation)
        async with bench(scopes, deck=server) as workbench:
            assert "deck" in workbench.unavailable
        script.write_bytes(FAKE_SERVER.read_bytes())
        async with bench(scopes, deck=server) as workbench:
            assert not workbench.unavailable


async def test_an_error_leaves_a_scope_as_itself() -> None:
    with pytest.raises(LeaseLost):
        async with open_server_scope(Opening(environment={})) as scope, bench(Scopes(investigation=scope), deck=deck()):
            raise LeaseLost
    assert running_fakes() == []


async def test_each_scope_has_its_own_name_for_a_remote_server(tmp_path: Path) -> None:
    requests = tmp_path / "requests"
    async with serve_remotely("http", "--requests", str(requests)) as server:
        config = server.configure(custom_headers={"X-For": "{{.SESSION_ID}}"})
        for isolation in ("investigation", "execution"):
            isolated = config.model_copy(update={"isolation": isolation})
            async with (
                open_server_scope(Opening(environment={}, client_id="i")) as investigation,
                bench(Scopes(investigation=investigation), far=isolated),
            ):
                pass
    assert sorted({entry["headers"]["x-for"] for entry in read_requests(requests)}) == ["e", "i"]


async def test_five_servers_come_up_side_by_side(tmp_path: Path) -> None:
    """Each waits for the four others to be started: one after another, none would ever be ready."""
    names = [f"deck{number}" for number in range(5)]
    servers = {name: program(WAITS_FOR_ALL, name, str(tmp_path), "5", str(FAKE_SERVER)) for name in names}
    async with bench(None, **servers) as workbench:
        assert not workbench.unavailable
        assert {tool.server for tool in await workbench.gate.list_tools()} == set(names)


async def test_a_server_that_floods_its_error_output_is_not_held_up_by_it() -> None:
    async with bench(deck=program(FLOODS_STDERR, str(FAKE_SERVER))) as workbench:
        assert (await settle(workbench.gate, call("deck.echo", text="x"))).content == "x"


async def test_a_server_that_exits_after_it_was_listed_is_started_again_for_a_read() -> None:
    async with bench(deck=deck()) as workbench:
        first = await pid_of(workbench.gate)
        os.kill(first, signal.SIGKILL)
        assert await pid_of(workbench.gate) != first


@pytest.mark.parametrize("manner", ["staying", "leaving its group"])
async def test_what_a_server_has_forked_goes_with_it(manner: str) -> None:
    async with bench(deck=program(FORKS_AND_SERVES, str(FAKE_SERVER), manner)) as workbench:
        children = psutil.Process(await pid_of(workbench.gate)).children()
        assert len(children) == 1
        await eventually(lambda: (os.getpgid(children[0].pid) == children[0].pid) == (manner != "staying"))
    gone, _ = psutil.wait_procs(children, timeout=60)
    assert gone == children
