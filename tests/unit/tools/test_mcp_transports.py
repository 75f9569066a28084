"""The toolset of an MCP server, the same over every transport, against real processes."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import psutil
import pytest

from midwatch.domain.errors import DispatchTooLate, LeaseLost
from midwatch.domain.tools import ToolResult
from midwatch.tools.dispatch import guarded
from midwatch.tools.mcp.server import McpServerTools, open_mcp_server
from tests.fakes.cleared_calls import cleared_read, cleared_write
from tests.fakes.mcp_process import fake_mcp_server, read_effects
from tests.fakes.mcp_remote import Kind, serve_remotely

Running = Callable[..., AbstractAsyncContextManager[McpServerTools]]


@asynccontextmanager
async def over_stdio(*options: str) -> AsyncGenerator[McpServerTools]:
    async with asyncio.timeout(60), open_mcp_server("fake", fake_mcp_server(*options), environment={}) as tools:
        yield tools


def remotely(kind: Kind, *always: str) -> Running:
    @asynccontextmanager
    async def over_http(*options: str) -> AsyncGenerator[McpServerTools]:
        async with (
            asyncio.timeout(60),
            serve_remotely(kind, *always, *options) as server,
            open_mcp_server("fake", server.configure(), environment={}) as tools,
        ):
            yield tools

    return over_http


TRANSPORTS = {
    "stdio": over_stdio,
    "http": remotely("http"),
    "http with events": remotely("http", "--events"),
    "sse": remotely("sse"),
}


@pytest.fixture(params=list(TRANSPORTS))
def running(request: pytest.FixtureRequest) -> Running:
    return TRANSPORTS[request.param]


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


async def test_tools_of_all_pages_are_listed_with_their_schemas_and_hints(running: Running) -> None:
    async with running("--page-size", "4") as tools:
        listed = {tool.name: tool for tool in await tools.list_tools()}
    assert {"echo", "restart", "crash_write"} <= listed.keys()
    assert listed["echo"].full_name == "fake.echo"
    assert listed["echo"].schema == {"type": "object", "properties": {"text": {"type": "string"}}}
    assert listed["echo"].read_only_hint is True
    assert listed["restart"].read_only_hint is False


async def test_calls_run_side_by_side_and_each_gets_its_own_answer(running: Running) -> None:
    async with running() as tools, asyncio.TaskGroup() as group:
        slow = group.create_task(tools.call(cleared_read("fake.slow_read", {"seconds": 0.3})))
        quick = [group.create_task(tools.call(cleared_read("fake.echo", {"text": str(n)}))) for n in range(20)]
        answers = [(await task).content for task in quick]
        assert not slow.done()
        assert answers == [str(n) for n in range(20)]
        assert (await slow).content == "slept"


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("fail", {"message": "no such pod"}, ToolResult(content="no such pod", error="TOOL_ERROR")),
        ("reject", {"code": -32602}, ToolResult(content="rejected on purpose", error="TOOL_ERROR")),
        ("reject", {"code": -32000}, ToolResult(content="rejected on purpose", error="TOOL_ERROR")),
        ("poison", {}, ToolResult(content="nul � half � end")),
    ],
)
async def test_what_the_server_says_is_the_result(
    running: Running, tool: str, arguments: dict[str, str], expected: ToolResult
) -> None:
    async with running() as tools:
        assert await tools.call(cleared_read(f"fake.{tool}", arguments)) == expected


@pytest.mark.parametrize("malformed", ["a text", None, {"content": "not a list"}, {}])
async def test_an_answer_that_is_no_result_is_a_protocol_error_at_once_and_not_asked_for_again(
    running: Running, malformed: object, effects: Path
) -> None:
    async with running("--effects", str(effects), "--log-reads") as tools:
        result = await tools.call(cleared_read("fake.malform", {"result": malformed}))
        assert result.error == "PROTOCOL_ERROR"
        assert (await tools.call(cleared_read("fake.echo", {"text": "still here"}))).content == "still here"
    assert [effect["tool"] for effect in read_effects(effects)] == ["malform", "echo"]


async def test_an_answer_that_is_no_json_fails_its_call_alone(running: Running) -> None:
    """Where nothing says whose answer it was meant to be, the call waits for another until its time is over."""
    async with running() as tools:
        result = await tools.call(cleared_read("fake.truncate", timeout=0.5))
        assert result.error in {"PROTOCOL_ERROR", "TIMEOUT"}
        assert (await tools.call(cleared_read("fake.echo", {"text": "still here"}))).content == "still here"


async def test_a_tool_that_was_not_listed_is_not_asked_for(running: Running, effects: Path) -> None:
    async with running("--effects", str(effects), "--log-reads") as tools:
        result = await tools.call(cleared_read("fake.ecko"))
    assert result.error == "TOOL_NOT_FOUND"
    assert "fake.echo" in result.content
    assert read_effects(effects) == []


async def test_a_call_over_its_time_is_a_timeout_and_not_repeated_and_the_session_goes_on(
    running: Running, effects: Path
) -> None:
    async with running("--effects", str(effects), "--log-reads") as tools:
        read = await tools.call(cleared_read("fake.slow_read", {"seconds": 5}, timeout=0.1))
        write = await tools.call(cleared_write("fake.slow_write", {"name": "pump", "seconds": 1}, timeout=0.1))
        assert (read.error, "unknown" in read.content) == ("TIMEOUT", False)
        assert (write.error, "unknown" in write.content) == ("TIMEOUT", True)
        assert (await tools.call(cleared_read("fake.echo", {"text": "on"}))).content == "on"
    begun = [effect["tool"] for effect in read_effects(effects) if effect.get("state") != "end"]
    assert begun == ["slow_read", "slow_write", "echo"]


async def test_a_proven_read_is_repeated_once_on_a_new_session(running: Running, tmp_path: Path) -> None:
    async with running() as tools:
        first = await server_pid(tools)
        result = await tools.call(cleared_read("fake.crash_once", {"marker": str(tmp_path / "crashed")}))
        assert result.content.startswith("answered by ")
        assert await server_pid(tools) != first


async def test_a_proven_read_is_repeated_no_more_than_once(running: Running, effects: Path) -> None:
    async with running("--effects", str(effects), "--log-reads") as tools:
        result = await tools.call(cleared_read("fake.crash"))
        assert result.error == "TRANSPORT_ERROR"
        assert (await tools.call(cleared_read("fake.echo", {"text": "up again"}))).content == "up again"
    assert [effect["tool"] for effect in read_effects(effects)] == ["crash", "crash", "echo"]


async def test_a_write_is_never_repeated_and_its_outcome_is_called_unknown(running: Running, effects: Path) -> None:
    async with running("--effects", str(effects)) as tools:
        result = await tools.call(cleared_write("fake.crash_write", {"name": "pump"}))
        assert result.error == "TRANSPORT_ERROR"
        assert "unknown" in result.content
        assert (await tools.call(cleared_write("fake.restart", {"name": "pump"}))).content == "pump restarted"
    assert [effect["tool"] for effect in read_effects(effects)] == ["crash_write", "restart"]


async def test_a_read_that_only_the_server_calls_one_is_not_repeated(running: Running, effects: Path) -> None:
    async with running("--effects", str(effects), "--log-reads") as tools:
        result = await tools.call(cleared_read("fake.crash", proven=False))
    assert result.error == "TRANSPORT_ERROR"
    assert "unknown" in result.content
    assert len(read_effects(effects)) == 1


async def test_many_callers_share_one_new_session(running: Running, effects: Path) -> None:
    async with running("--effects", str(effects), "--log-reads") as tools:
        await tools.call(cleared_write("fake.crash_write", {"name": "pump"}))
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(tools.call(cleared_read("fake.echo", {"text": str(n)}))) for n in range(10)]
        assert [task.result().content for task in tasks] == [str(n) for n in range(10)]
    echoes = [effect for effect in read_effects(effects) if effect["tool"] == "echo"]
    assert len(echoes) == 10
    assert len({echo["pid"] for echo in echoes}) == 1


async def test_a_guard_that_says_lease_lost_stops_the_bytes(running: Running, effects: Path) -> None:
    async with running("--effects", str(effects)) as tools:
        with guarded(raise_it(LeaseLost())), pytest.raises(LeaseLost):
            await tools.call(cleared_write("fake.restart", {"name": "pump"}))
        assert (await tools.call(cleared_read("fake.echo", {"text": "usable"}))).content == "usable"
    assert read_effects(effects) == []


async def test_a_guard_that_says_too_late_is_a_result_that_says_not_sent(running: Running, effects: Path) -> None:
    async with running("--effects", str(effects)) as tools:
        with guarded(raise_it(DispatchTooLate())):
            result = await tools.call(cleared_write("fake.restart", {"name": "pump"}))
        assert (await tools.call(cleared_read("fake.echo", {"text": "usable"}))).content == "usable"
    assert result.error == "NOT_DISPATCHED"
    assert "not sent" in result.content
    assert read_effects(effects) == []


async def test_the_guard_is_asked_again_before_a_repeated_read(running: Running, tmp_path: Path, effects: Path) -> None:
    asked: list[None] = []

    def check() -> None:
        asked.append(None)
        if len(asked) > 1:
            raise LeaseLost

    async with running("--effects", str(effects), "--log-reads") as tools:
        with guarded(check), pytest.raises(LeaseLost):
            await tools.call(cleared_read("fake.crash_once", {"marker": str(tmp_path / "crashed")}))
    assert len(read_effects(effects)) == 1


async def test_a_cancelled_caller_leaves_the_session_to_others(running: Running, tmp_path: Path, effects: Path) -> None:
    hold = tmp_path / "hold"
    hold.touch()
    async with running("--effects", str(effects)) as tools:
        pid = await server_pid(tools)
        async with asyncio.TaskGroup() as group:
            write = group.create_task(tools.call(cleared_write("fake.slow_write", {"name": "pump", "hold": str(hold)})))
            await wait_for_effect(effects, 1)
            write.cancel()
        assert write.cancelled()
        assert (await tools.call(cleared_read("fake.echo", {"text": "usable"}))).content == "usable"
        assert await server_pid(tools) == pid


async def test_a_caller_that_is_cancelled_while_the_session_is_made_anew_does_not_stop_it(running: Running) -> None:
    async with running() as tools:
        await tools.call(cleared_write("fake.crash_write", {"name": "pump"}))
        async with asyncio.TaskGroup() as group:
            impatient = group.create_task(tools.call(cleared_read("fake.echo", {"text": "first"})))
            patient = group.create_task(tools.call(cleared_read("fake.echo", {"text": "second"})))
            await asyncio.sleep(0)
            impatient.cancel()
        assert impatient.cancelled()
        assert patient.result().content == "second"


async def test_an_answer_over_the_limit_fails_its_call_and_the_next_one_goes_through(
    running: Running, effects: Path
) -> None:
    async with running("--effects", str(effects), "--log-reads") as tools:
        result = await tools.call(cleared_read("fake.big", {"bytes": 10 * 1024 * 1024}))
        assert result.error == "TRANSPORT_ERROR"
        assert "10485760 bytes" in result.content
        assert (await tools.call(cleared_read("fake.echo", {"text": "back"}))).content == "back"
    assert [effect["tool"] for effect in read_effects(effects)] == ["big", "echo"]


async def test_an_answer_just_under_the_limit_arrives_whole(running: Running) -> None:
    async with running() as tools:
        result = await tools.call(cleared_read("fake.big", {"bytes": 10 * 1024 * 1024 - 1000}))
    assert len(result.content) == 10 * 1024 * 1024 - 1000


async def test_no_capability_is_offered_to_the_server(running: Running) -> None:
    async with running() as tools:
        greeting = json.loads((await tools.call(cleared_read("fake.greeting"))).content)
    assert greeting["capabilities"] == {}


async def test_nothing_is_left_open(running: Running) -> None:
    tasks, sockets, files, processes = asyncio.all_tasks(), open_sockets(), open_files(), list_children()
    async with running() as tools:
        await tools.call(cleared_read("fake.slow_read", {"seconds": 5}, timeout=0.1))
        await tools.call(cleared_read("fake.echo", {"text": "x"}))
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == tasks
    assert open_sockets() <= sockets
    assert open_files() <= files
    assert list_children() <= processes
    result = await tools.call(cleared_read("fake.echo", {"text": "anyone?"}))
    assert result.error == "TRANSPORT_ERROR"


def open_sockets() -> int:
    return len(psutil.Process().net_connections())


def open_files() -> int:
    """Pipes and handles of processes included."""
    return psutil.Process().num_fds()


def list_children() -> set[psutil.Process]:
    return set(psutil.Process().children(recursive=True))
