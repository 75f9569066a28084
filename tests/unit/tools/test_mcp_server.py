"""The toolset of an MCP server, against a real process."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import psutil
import pytest
from structlog.testing import capture_logs

from midwatch.config.mcp import McpServer, StdioTransport
from midwatch.domain.errors import DispatchTooLate, LeaseLost, ToolServerUnavailable
from midwatch.domain.tools import ToolResult
from midwatch.tools.dispatch import guarded
from midwatch.tools.mcp.server import McpServerTools, open_mcp_server
from tests.fakes.cleared_calls import cleared_read, cleared_write
from tests.fakes.mcp_process import FAKE_SERVER, SDK_SERVER, fake_mcp_server, read_effects, running_fakes


@asynccontextmanager
async def running(*options: str) -> AsyncGenerator[McpServerTools]:
    async with asyncio.timeout(20), open_mcp_server("fake", fake_mcp_server(*options), environment={}) as tools:
        yield tools


@pytest.fixture
def effects(tmp_path: Path) -> Path:
    return tmp_path / "effects.jsonl"


def raise_it(error: Exception) -> Callable[[], None]:
    def check() -> None:
        raise error

    return check


async def wait_for_effect(path: Path, count: int) -> None:
    async with asyncio.timeout(5):
        while len(read_effects(path)) < count:  # noqa: ASYNC110 - another process writes the file
            await asyncio.sleep(0.005)


async def server_pid(tools: McpServerTools) -> int:
    return int((await tools.call(cleared_read("fake.pid"))).content)


async def test_tools_of_all_pages_are_listed_with_their_schemas_and_hints() -> None:
    async with running("--page-size", "4") as tools:
        listed = {tool.name: tool for tool in await tools.list_tools()}
    assert {"echo", "restart", "crash_write"} <= listed.keys()
    assert listed["echo"].full_name == "fake.echo"
    assert listed["echo"].schema == {"type": "object", "properties": {"text": {"type": "string"}}}
    assert listed["echo"].read_only_hint is True
    assert listed["restart"].read_only_hint is False


async def test_calls_run_side_by_side_and_each_gets_its_own_answer() -> None:
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
async def test_what_the_server_says_is_the_result(tool: str, arguments: dict[str, str], expected: ToolResult) -> None:
    async with running() as tools:
        assert await tools.call(cleared_read(f"fake.{tool}", arguments)) == expected


@pytest.mark.parametrize("malformed", ["a text", None, {"content": "not a list"}, {}])
async def test_an_answer_that_is_no_result_is_a_protocol_error_at_once(malformed: object) -> None:
    async with running() as tools:
        result = await tools.call(cleared_read("fake.malform", {"result": malformed}))
        assert result.error == "PROTOCOL_ERROR"
        assert (await tools.call(cleared_read("fake.echo", {"text": "still here"}))).content == "still here"


async def test_a_tool_that_was_not_listed_is_not_asked_for(effects: Path) -> None:
    async with running("--effects", str(effects), "--log-reads") as tools:
        result = await tools.call(cleared_read("fake.ecko"))
    assert result.error == "TOOL_NOT_FOUND"
    assert "fake.echo" in result.content
    assert read_effects(effects) == []


async def test_a_call_over_its_time_is_a_timeout_and_the_session_goes_on() -> None:
    async with running() as tools:
        read = await tools.call(cleared_read("fake.slow_read", {"seconds": 5}, timeout=0.1))
        write = await tools.call(cleared_write("fake.slow_write", {"name": "pump", "seconds": 1}, timeout=0.1))
        assert (read.error, "unknown" in read.content) == ("TIMEOUT", False)
        assert (write.error, "unknown" in write.content) == ("TIMEOUT", True)
        assert (await tools.call(cleared_read("fake.echo", {"text": "on"}))).content == "on"


async def test_a_proven_read_is_repeated_once_on_a_new_session(tmp_path: Path) -> None:
    async with running() as tools:
        first = await server_pid(tools)
        result = await tools.call(cleared_read("fake.crash_once", {"marker": str(tmp_path / "crashed")}))
        assert result.content.startswith("answered by ")
        assert await server_pid(tools) != first


async def test_a_proven_read_is_repeated_no_more_than_once(effects: Path) -> None:
    async with running("--effects", str(effects), "--log-reads") as tools:
        result = await tools.call(cleared_read("fake.crash"))
        assert result.error == "TRANSPORT_ERROR"
        assert (await tools.call(cleared_read("fake.echo", {"text": "up again"}))).content == "up again"
    assert [effect["tool"] for effect in read_effects(effects)] == ["crash", "crash", "echo"]


async def test_a_write_is_never_repeated_and_its_outcome_is_called_unknown(effects: Path) -> None:
    async with running("--effects", str(effects)) as tools:
        result = await tools.call(cleared_write("fake.crash_write", {"name": "pump"}))
        assert result.error == "TRANSPORT_ERROR"
        assert "unknown" in result.content
        assert (await tools.call(cleared_write("fake.restart", {"name": "pump"}))).content == "pump restarted"
    assert [effect["tool"] for effect in read_effects(effects)] == ["crash_write", "restart"]


async def test_a_read_that_only_the_server_calls_one_is_not_repeated(effects: Path) -> None:
    async with running("--effects", str(effects), "--log-reads") as tools:
        result = await tools.call(cleared_read("fake.crash", proven=False))
    assert result.error == "TRANSPORT_ERROR"
    assert "unknown" in result.content
    assert len(read_effects(effects)) == 1


async def test_many_callers_share_one_new_session(effects: Path) -> None:
    async with running("--effects", str(effects), "--log-reads") as tools:
        await tools.call(cleared_write("fake.crash_write", {"name": "pump"}))
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(tools.call(cleared_read("fake.echo", {"text": str(n)}))) for n in range(10)]
        assert [task.result().content for task in tasks] == [str(n) for n in range(10)]
    echoes = [effect for effect in read_effects(effects) if effect["tool"] == "echo"]
    assert len(echoes) == 10
    assert len({echo["pid"] for echo in echoes}) == 1


async def test_a_server_that_does_not_come_back_is_a_result(tmp_path: Path) -> None:
    program = tmp_path / "server.py"
    program.write_bytes(FAKE_SERVER.read_bytes())
    async with open_mcp_server("fake", fake_mcp_server(program=program), environment={}) as tools:
        program.unlink()
        result = await tools.call(cleared_read("fake.crash"))
    assert result.error == "TRANSPORT_ERROR"
    assert "not sent" in result.content


async def test_a_guard_that_says_lease_lost_stops_the_bytes_and_reaches_the_caller(effects: Path) -> None:
    async with running("--effects", str(effects)) as tools:
        with guarded(raise_it(LeaseLost())), pytest.raises(LeaseLost):
            await tools.call(cleared_write("fake.restart", {"name": "pump"}))
        assert (await tools.call(cleared_read("fake.echo", {"text": "usable"}))).content == "usable"
    assert read_effects(effects) == []


async def test_a_guard_that_says_too_late_is_a_result_that_says_not_sent(effects: Path) -> None:
    async with running("--effects", str(effects)) as tools:
        with guarded(raise_it(DispatchTooLate())):
            result = await tools.call(cleared_write("fake.restart", {"name": "pump"}))
        assert (await tools.call(cleared_read("fake.echo", {"text": "usable"}))).content == "usable"
    assert result.error == "NOT_DISPATCHED"
    assert "not sent" in result.content
    assert read_effects(effects) == []


async def test_the_guard_is_asked_again_before_a_repeated_read(tmp_path: Path, effects: Path) -> None:
    asked: list[None] = []

    def check() -> None:
        asked.append(None)
        if len(asked) > 1:
            raise LeaseLost

    async with running("--effects", str(effects), "--log-reads") as tools:
        with guarded(check), pytest.raises(LeaseLost):
            await tools.call(cleared_read("fake.crash_once", {"marker": str(tmp_path / "crashed")}))
    assert len(read_effects(effects)) == 1


async def test_a_cancelled_caller_leaves_the_session_to_the_others(tmp_path: Path, effects: Path) -> None:
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


async def test_a_caller_that_is_cancelled_while_the_session_is_made_anew_does_not_stop_it() -> None:
    async with running() as tools:
        await tools.call(cleared_write("fake.crash_write", {"name": "pump"}))
        async with asyncio.TaskGroup() as group:
            impatient = group.create_task(tools.call(cleared_read("fake.echo", {"text": "first"})))
            patient = group.create_task(tools.call(cleared_read("fake.echo", {"text": "second"})))
            await asyncio.sleep(0)
            impatient.cancel()
        assert impatient.cancelled()
        assert patient.result().content == "second"


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

    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        opener = group.create_task(open_it())
        while not running_fakes():  # noqa: ASYNC110 - the process table has no events
            await asyncio.sleep(0.005)
        opener.cancel()
    assert running_fakes() == []


@pytest.mark.parametrize(
    ("command", "args", "reason"),
    [
        ("/does/not/exist", (), "cannot be started: No such file or directory"),
        ("true", (), "failed to initialise"),
    ],
)
async def test_a_program_that_is_no_server_is_unavailable(command: str, args: tuple[str, ...], reason: str) -> None:
    config = McpServer(transport=StdioTransport(type="stdio", command=command, args=args))
    with pytest.raises(ToolServerUnavailable, match=reason):
        async with open_mcp_server("fake", config, environment={"PATH": "/usr/bin:/bin"}):
            pytest.fail("it is not open")


async def test_an_answer_over_the_limit_fails_the_session_once_and_the_next_call_gets_a_new_one(effects: Path) -> None:
    async with running("--effects", str(effects), "--log-reads") as tools:
        result = await tools.call(cleared_read("fake.big", {"bytes": 10 * 1024 * 1024}))
        assert result.error == "TRANSPORT_ERROR"
        assert "10485760 bytes" in result.content
        assert (await tools.call(cleared_read("fake.echo", {"text": "back"}))).content == "back"
    assert [effect["tool"] for effect in read_effects(effects)] == ["big", "echo"]


async def test_an_answer_just_under_the_limit_arrives_whole() -> None:
    async with running() as tools:
        result = await tools.call(cleared_read("fake.big", {"bytes": 10 * 1024 * 1024 - 1000}))
    assert len(result.content) == 10 * 1024 * 1024 - 1000


async def test_lines_that_are_no_messages_are_passed_over_with_one_warning_that_does_not_quote_them() -> None:
    with capture_logs() as logs:
        async with running("--noise") as tools:
            assert (await tools.call(cleared_read("fake.echo", {"text": "heard"}))).content == "heard"
    assert logs == [{"event": "tool_server_line_ignored", "server": "fake", "bytes": 16, "log_level": "warning"}]


async def test_no_capability_is_offered_to_the_server() -> None:
    async with running() as tools:
        greeting = json.loads((await tools.call(cleared_read("fake.greeting"))).content)
    assert greeting["capabilities"] == {}


async def test_a_server_that_knows_no_handshake_is_spoken_to_without() -> None:
    async with running("--modern") as tools:
        assert (await tools.call(cleared_read("fake.echo", {"text": "modern"}))).content == "modern"


async def test_the_child_gets_the_given_environment_and_nothing_else() -> None:
    async with open_mcp_server("fake", fake_mcp_server(), environment={"DECK": "upper"}) as tools:
        environment = json.loads((await tools.call(cleared_read("fake.environ"))).content)
    environment.pop("LC_CTYPE", None)  # set by the child's own interpreter
    assert environment == {"DECK": "upper"}


async def test_the_official_sdk_server_is_understood() -> None:
    config = fake_mcp_server(program=SDK_SERVER)
    async with asyncio.timeout(20), open_mcp_server("sdk", config, environment={}) as tools:
        listed = {tool.name: tool for tool in await tools.list_tools()}
        assert listed["echo"].description == "Says it again."
        assert (listed["echo"].read_only_hint, listed["picture"].read_only_hint) == (True, None)
        assert await tools.call(cleared_read("sdk.echo", {"text": "hello"})) == ToolResult(content="hello")
        weather = await tools.call(cleared_read("sdk.weather", {"place": "deck"}))
        assert json.loads(weather.content) == {"place": "deck", "wind": 7}
        assert (await tools.call(cleared_read("sdk.picture"))).content == "[image, image/png, 5 bytes]"
        assert (await tools.call(cleared_read("sdk.stumble"))).error == "TOOL_ERROR"
        assert (await tools.call(cleared_read("sdk.echo", {"wrong": "argument"}))).error == "TOOL_ERROR"
