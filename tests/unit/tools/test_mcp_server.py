"""The toolset of an MCP server, against a real process."""

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import psutil
import pytest
from structlog.testing import capture_logs

from midwatch.config.mcp import OURSELVES, McpServer, StdioTransport
from midwatch.domain.errors import LeaseLost, ToolServerUnavailable
from midwatch.domain.tools import ToolResult
from midwatch.tools.mcp.server import McpServerTools, open_mcp_server
from tests.fakes.cleared_calls import cleared_read
from tests.fakes.mcp_process import FAKE_SERVER, SDK_SERVER, fake_mcp_server, read_effects, running_fakes

REFUSES = """
import json, sys
for line in sys.stdin:
    told = {"code": -32001, "message": "password=hunter2-of-the-watch"}
    print(json.dumps({"jsonrpc": "2.0", "id": json.loads(line)["id"], "error": told}), flush=True)
"""

BABBLES = """
import json, sys
for line in sys.stdin:
    print(json.dumps({"jsonrpc": "2.0", "id": json.loads(line)["id"], "result": {"tools": 7}}), flush=True)
"""


@asynccontextmanager
async def running(*options: str) -> AsyncGenerator[McpServerTools]:
    async with asyncio.timeout(60), open_mcp_server("fake", fake_mcp_server(*options), environment={}) as tools:
        yield tools


@pytest.fixture
def effects(tmp_path: Path) -> Path:
    return tmp_path / "effects.jsonl"


def raise_it(error: Exception) -> Callable[[], None]:
    def check() -> None:
        raise error

    return check


async def wait_for_effect(path: Path, count: int) -> None:
    async with asyncio.timeout(60):
        while len(read_effects(path)) < count:  # noqa: ASYNC110 - another process writes the file
            await asyncio.sleep(0.005)


async def server_pid(tools: McpServerTools) -> int:
    return int((await tools.call(cleared_read("fake.pid"))).content)


async def test_a_server_that_does_not_come_back_is_a_result(tmp_path: Path) -> None:
    program = tmp_path / "server.py"
    program.write_bytes(FAKE_SERVER.read_bytes())
    async with open_mcp_server("fake", fake_mcp_server(program=program), environment={}) as tools:
        program.unlink()
        result = await tools.call(cleared_read("fake.crash"))
    assert result.error == "TRANSPORT_ERROR"
    assert "not sent" in result.content


async def test_nothing_is_left_behind() -> None:
    tasks = asyncio.all_tasks()
    async with running() as tools:
        process = psutil.Process(await server_pid(tools))
    assert not process.is_running()
    assert asyncio.all_tasks() == tasks
    result = await tools.call(cleared_read("fake.echo", {"text": "anyone?"}))
    assert result.error == "TRANSPORT_ERROR"


async def test_an_error_in_the_body_leaves_as_itself_and_the_server_is_stopped() -> None:
    processes: list[psutil.Process] = []

    async def lose_the_lease() -> None:
        async with running() as tools:
            processes.append(psutil.Process(await server_pid(tools)))
            raise LeaseLost

    with pytest.raises(LeaseLost):
        await lose_the_lease()
    assert [process.is_running() for process in processes] == [False]


async def test_cancelling_the_body_stops_the_server() -> None:
    opened: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def hold() -> None:
        async with running() as tools:
            opened.set_result(await server_pid(tools))
            await asyncio.Event().wait()

    async with asyncio.TaskGroup() as group:
        holder = group.create_task(hold())
        process = psutil.Process(await opened)
        holder.cancel()
    assert holder.cancelled()
    assert not process.is_running()


async def test_a_server_that_never_answers_is_unavailable() -> None:
    with pytest.raises(ToolServerUnavailable, match="not ready after"):
        async with open_mcp_server("fake", fake_mcp_server("--silent"), environment={}, init_timeout=0.3):
            pytest.fail("it is not open")
    assert running_fakes() == []


async def test_cancelling_while_a_server_comes_up_does_not_wait_for_it() -> None:
    async def open_it() -> None:
        async with open_mcp_server("fake", fake_mcp_server("--silent"), environment={}):
            pytest.fail("it is not open")

    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        opener = group.create_task(open_it())
        while not running_fakes():  # noqa: ASYNC110 - the process table has no events
            await asyncio.sleep(0.005)
        opener.cancel()
    assert running_fakes() == []


@pytest.mark.parametrize(
    ("command", "args", "reason"),
    [
        ("/does/not/exist", (), "cannot be started: No such file or directory"),
        ("true", (), "tool server fake: it ended( before it was ready)?$"),
        (sys.executable, ("-c", REFUSES), r"failed to initialise: it refused \(error -32001\)$"),
        (sys.executable, ("-c", BABBLES), r"failed to initialise: its answer could not be understood \(\w+\)$"),
    ],
)
async def test_a_program_that_is_no_server_is_unavailable(command: str, args: tuple[str, ...], reason: str) -> None:
    config = McpServer(transport=StdioTransport(type="stdio", command=command, args=args), run_as=OURSELVES)
    with pytest.raises(ToolServerUnavailable, match=reason):
        async with open_mcp_server("fake", config, environment={"PATH": "/usr/bin:/bin"}):
            pytest.fail("it is not open")


async def test_lines_that_are_no_messages_are_passed_over_with_one_warning_that_does_not_quote_them() -> None:
    with capture_logs() as logs:
        async with running("--noise") as tools:
            assert (await tools.call(cleared_read("fake.echo", {"text": "heard"}))).content == "heard"
    assert logs == [{"event": "tool_server_line_ignored", "server": "fake", "bytes": 16, "log_level": "warning"}]


async def test_a_server_that_knows_no_handshake_is_spoken_to_without() -> None:
    async with running("--modern") as tools:
        assert (await tools.call(cleared_read("fake.echo", {"text": "modern"}))).content == "modern"
        greeting = json.loads((await tools.call(cleared_read("fake.greeting"))).content)
    assert greeting["io.modelcontextprotocol/clientCapabilities"] == {}


async def test_the_child_gets_the_given_environment_and_nothing_else() -> None:
    async with open_mcp_server("fake", fake_mcp_server(), environment={"DECK": "upper"}) as tools:
        environment = json.loads((await tools.call(cleared_read("fake.environ"))).content)
    environment.pop("LC_CTYPE", None)  # set by the child's own interpreter
    assert environment == {"DECK": "upper"}


async def test_the_official_sdk_server_is_understood() -> None:
    config = fake_mcp_server(program=SDK_SERVER)
    async with asyncio.timeout(60), open_mcp_server("sdk", config, environment={}) as tools:
        listed = {tool.name: tool for tool in await tools.list_tools()}
        assert listed["echo"].description == "Says it again."
        assert (listed["echo"].read_only_hint, listed["picture"].read_only_hint) == (True, None)
        assert await tools.call(cleared_read("sdk.echo", {"text": "hello"})) == ToolResult(content="hello")
        weather = await tools.call(cleared_read("sdk.weather", {"place": "deck"}))
        assert json.loads(weather.content) == {"place": "deck", "wind": 7}
        assert (await tools.call(cleared_read("sdk.picture"))).content == "[image image/png, 5 bytes, not shown]"
        assert (await tools.call(cleared_read("sdk.stumble"))).error == "TOOL_ERROR"
        assert (await tools.call(cleared_read("sdk.echo", {"wrong": "argument"}))).error == "TOOL_ERROR"
