"""Tool servers behind HTTP: what they are told, what they are not, and what is made of their answers."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from structlog.testing import capture_logs

from midwatch.config.mcp import McpServer
from midwatch.domain.errors import ToolServerUnavailable
from midwatch.domain.tools import ToolResult
from midwatch.tools.dispatch import guarded
from midwatch.tools.mcp.server import McpServerTools, open_mcp_server
from tests.fakes.cleared_calls import cleared_read, cleared_write
from tests.fakes.mcp_process import SDK_SERVER, read_effects
from tests.fakes.mcp_remote import Kind, RemoteServer, read_requests, serve_remotely
from tests.fakes.tls_server import write_certificate

KINDS: list[Kind] = ["http", "sse"]
TOKEN = "hunter2-of-the-night-watch"


@asynccontextmanager
async def opened(
    config: McpServer, *, client_id: str = "execution-7", seconds: float = 5
) -> AsyncGenerator[McpServerTools]:
    async with (
        asyncio.timeout(60),
        open_mcp_server("far", config, environment={}, client_id=client_id, init_timeout=seconds) as tools,
    ):
        yield tools


async def fail_to_open(config: McpServer, *, seconds: float = 5) -> str:
    with pytest.raises(ToolServerUnavailable) as caught:
        async with opened(config, seconds=seconds):
            pytest.fail("it is not open")
    return str(caught.value)


@pytest.fixture
def requests(tmp_path: Path) -> Path:
    return tmp_path / "requests.jsonl"


@pytest.mark.parametrize("kind", KINDS)
async def test_the_token_and_the_headers_go_with_every_request(kind: Kind, requests: Path) -> None:
    async with serve_remotely(kind, "--requests", str(requests)) as server:
        config = server.configure(bearer_token=f"{TOKEN}\n", custom_headers={"X-Session": "of {{ .SESSION_ID }}"})
        async with opened(config) as tools:
            await tools.call(cleared_read("far.echo", {"text": "x"}))
    seen = read_requests(requests)
    assert len(seen) >= 4
    assert {entry["headers"]["authorization"] for entry in seen} == {f"Bearer {TOKEN}"}
    assert {entry["headers"]["x-session"] for entry in seen} == {"of execution-7"}


async def test_the_session_is_named_in_each_request_and_ended_with_the_last(requests: Path) -> None:
    async with serve_remotely("http", "--requests", str(requests)) as server, opened(server.configure()) as tools:
        await tools.call(cleared_read("far.echo", {"text": "x"}))
    first, *others = read_requests(requests)
    assert "mcp-session-id" not in first["headers"]
    assert len({entry["headers"]["mcp-session-id"] for entry in others}) == 1
    assert {entry["headers"]["mcp-protocol-version"] for entry in others} == {"2025-11-25"}
    # What listens has a connection of its own: the server may read its request after the farewell.
    assert [entry["method"] for entry in others if entry["method"] != "GET"][-1] == "DELETE"


@pytest.mark.parametrize("kind", KINDS)
async def test_what_was_kept_for_the_session_is_cleaned_up_at_its_end(kind: Kind, requests: Path) -> None:
    async with serve_remotely(kind, "--requests", str(requests)) as server:
        config = server.configure(
            session_cleanup_url=f"http://127.0.0.1:{server.port}/kept/{{{{.SESSION_ID}}}}", bearer_token=TOKEN
        )
        async with opened(config) as tools:
            await tools.call(cleared_write("far.crash_write", {"name": "x"}))
            await tools.call(cleared_read("far.echo", {"text": "x"}))
            assert not [entry for entry in read_requests(requests) if "/kept/" in entry["path"]]
    (cleaned,) = [entry for entry in read_requests(requests) if "/kept/" in entry["path"]]
    assert (cleaned["method"], cleaned["path"]) == ("DELETE", "/kept/execution-7")
    assert cleaned["headers"]["authorization"] == f"Bearer {TOKEN}"


async def test_a_cleanup_elsewhere_is_asked_for_without_the_token(requests: Path) -> None:
    async with serve_remotely("http", "--requests", str(requests)) as other, serve_remotely("http") as server:
        config = server.configure(session_cleanup_url=f"http://127.0.0.1:{other.port}/kept", bearer_token=TOKEN)
        async with opened(config):
            pass
    (cleaned,) = read_requests(requests)
    assert "authorization" not in cleaned["headers"]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_cleanup_that_fails_is_a_line_in_the_log(kind: Kind) -> None:
    with capture_logs() as logs:
        async with serve_remotely(kind) as server:
            config = server.configure(session_cleanup_url="http://127.0.0.1:1/secret-place")
            async with opened(config):
                pass
    assert [entry["event"] for entry in logs] == ["tool_server_cleanup_failed"]
    assert "secret-place" not in str(logs)


async def test_a_redirect_within_the_server_is_followed(requests: Path) -> None:
    async with (
        serve_remotely("http", "--redirect", "/moved", "--requests", str(requests)) as server,
        opened(server.configure(bearer_token=TOKEN)) as tools,
    ):
        assert (await tools.call(cleared_read("far.echo", {"text": "x"}))).content == "x"
    assert [entry["path"] for entry in read_requests(requests)].count("/mcp") == 1


async def test_a_redirect_to_another_host_is_not(requests: Path) -> None:
    async with serve_remotely("http", "--requests", str(requests)) as thief:
        elsewhere = f"http://127.0.0.1:{thief.port}/mcp"
        async with serve_remotely("http", "--redirect", elsewhere) as server:
            told = await fail_to_open(server.configure(bearer_token=TOKEN))
    assert "it redirects to another address" in told
    assert read_requests(requests) == []


async def test_an_endpoint_at_another_host_is_not_written_to(requests: Path) -> None:
    async with serve_remotely("http", "--requests", str(requests)) as thief:
        elsewhere = f"http://127.0.0.1:{thief.port}/messages"
        async with serve_remotely("sse", "--endpoint", elsewhere) as server:
            told = await fail_to_open(server.configure(bearer_token=TOKEN))
    assert "at another address" in told
    assert read_requests(requests) == []


@pytest.mark.parametrize("kind", KINDS)
async def test_a_server_that_repeats_our_token_does_not_show_it_to_the_model(kind: Kind) -> None:
    async with serve_remotely(kind) as server, opened(server.configure(bearer_token=TOKEN)) as tools:
        echoed = await tools.call(cleared_read("far.echo", {"text": f"you sent Bearer {TOKEN}"}))
        failed = await tools.call(cleared_read("far.fail", {"message": f"bad token {TOKEN}"}))
    assert echoed.content == "you sent [MASKED_CREDENTIAL]"
    assert failed.content == "bad token [MASKED_CREDENTIAL]"


@pytest.mark.parametrize("kind", KINDS)
async def test_a_certificate_nobody_vouches_for_is_refused_unless_told_otherwise(kind: Kind, tmp_path: Path) -> None:
    certificate = write_certificate(tmp_path / "server.pem")
    async with serve_remotely(kind, "--certificate", str(certificate)) as server:
        told = await fail_to_open(server.configure(scheme="https"))
        assert "its certificate is not accepted" in told
        async with opened(server.configure(scheme="https", verify_ssl=False)) as tools:
            assert (await tools.call(cleared_read("far.echo", {"text": "x"}))).content == "x"


@pytest.mark.parametrize("kind", KINDS)
async def test_a_server_that_is_not_there_is_named_without_its_address(kind: Kind) -> None:
    config = RemoteServer(kind=kind, command=(), port=1).configure(bearer_token=TOKEN)
    assert await fail_to_open(config) == "tool server far: it cannot be reached: Connection refused"


@pytest.mark.parametrize("kind", KINDS)
async def test_a_server_that_never_answers_is_unavailable(kind: Kind) -> None:
    async with serve_remotely(kind, "--silent") as server:
        assert await fail_to_open(server.configure(), seconds=0.3) == "tool server far: not ready after 0.3 s"


async def test_a_page_is_no_tool_server() -> None:
    async with serve_remotely("http") as server:
        config = RemoteServer(kind="sse", command=(), port=server.port).configure()
        assert "it answered with HTTP status 405" in await fail_to_open(config)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_server_that_redeploys_is_usable_again(kind: Kind) -> None:
    async with serve_remotely(kind) as server, opened(server.configure()) as tools:
        before = (await tools.call(cleared_read("far.pid"))).content
        await server.kill()
        gone = await tools.call(cleared_read("far.pid"))
        assert gone == ToolResult(
            content="The call was not sent: tool server far: it cannot be reached: Connection refused.",
            error="TRANSPORT_ERROR",
        )
        await server.start()
        after = (await tools.call(cleared_read("far.pid"))).content
        assert after != before


@pytest.mark.parametrize("kind", KINDS)
async def test_a_server_killed_in_the_middle_of_a_write_leaves_its_outcome_unknown(kind: Kind, tmp_path: Path) -> None:
    effects = tmp_path / "effects"
    async with (
        serve_remotely(kind, "--effects", str(effects)) as server,
        opened(server.configure()) as tools,
        asyncio.TaskGroup() as group,
    ):
        write = group.create_task(tools.call(cleared_write("far.slow_write", {"name": "pump", "seconds": 60})))
        while not read_effects(effects):  # noqa: ASYNC110 - another process writes the file
            await asyncio.sleep(0.005)
        await server.kill()
        result = await write
        assert result.error == "TRANSPORT_ERROR"
        assert "unknown" in result.content
        await server.start()
        assert (await tools.call(cleared_write("far.restart", {"name": "pump"}))).content == "pump restarted"
    assert [effect["tool"] for effect in read_effects(effects)] == ["slow_write", "restart"]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_write_to_a_server_that_is_gone_was_not_sent(kind: Kind) -> None:
    async with serve_remotely(kind) as server, opened(server.configure()) as tools:
        await server.kill()
        result = await tools.call(cleared_write("far.restart", {"name": "pump"}))
    assert result.error == "TRANSPORT_ERROR"
    assert "not sent" in result.content
    assert "unknown" not in result.content


@pytest.mark.parametrize(
    ("status", "code", "repeated"),
    [(401, "PROTOCOL_ERROR", 1), (500, "PROTOCOL_ERROR", 1), (503, "TRANSPORT_ERROR", 2), (302, "PROTOCOL_ERROR", 1)],
)
async def test_a_status_is_told_and_only_a_missing_server_is_asked_again(
    status: int, code: str, repeated: int, requests: Path
) -> None:
    async with (
        serve_remotely("http", "--status", str(status), "--requests", str(requests)) as server,
        opened(server.configure()) as tools,
    ):
        result = await tools.call(cleared_read("far.echo", {"text": "x"}))
    assert result.error == code
    # Two words of greeting, the list of tools, and the call.
    assert [entry["method"] for entry in read_requests(requests)].count("POST") == 4 * repeated


@pytest.mark.parametrize("options", [(), ("--events",)])
async def test_what_is_no_message_is_no_server(options: tuple[str, ...]) -> None:
    async with serve_remotely("http", "--garble", "{not JSON", *options) as server:
        assert "its answer is not a valid message" in await fail_to_open(server.configure())


async def test_an_event_that_is_no_message_is_passed_over() -> None:
    async with serve_remotely("sse", "--garble", "{not JSON") as server, opened(server.configure()) as tools:
        assert (await tools.call(cleared_read("far.echo", {"text": "x"}))).content == "x"


async def end_session(port: int, requests: Path) -> None:
    """As a server does that has forgotten its clients."""
    session = next(entry["headers"]["mcp-session-id"] for entry in read_requests(requests)[1:])
    async with httpx.AsyncClient() as http:
        await http.delete(f"http://127.0.0.1:{port}/mcp", headers={"mcp-session-id": session})


async def test_a_call_on_its_way_outlives_a_session_that_is_forgotten(requests: Path, tmp_path: Path) -> None:
    effects = tmp_path / "effects"
    hold = tmp_path / "hold"
    hold.touch()
    async with (
        serve_remotely("http", "--requests", str(requests), "--effects", str(effects)) as server,
        opened(server.configure()) as tools,
        asyncio.TaskGroup() as group,
    ):
        write = group.create_task(tools.call(cleared_write("far.slow_write", {"name": "pump", "hold": str(hold)})))
        while not read_effects(effects):  # noqa: ASYNC110 - another process writes the file
            await asyncio.sleep(0.005)
        await end_session(server.port, requests)
        assert (await tools.call(cleared_read("far.echo", {"text": "anew"}))).content == "anew"
        hold.unlink()
        assert await write == ToolResult(content="pump changed")


async def test_a_write_on_a_forgotten_session_is_not_sent_twice(requests: Path, tmp_path: Path) -> None:
    effects = tmp_path / "effects"
    async with (
        serve_remotely("http", "--requests", str(requests), "--effects", str(effects)) as server,
        opened(server.configure()) as tools,
    ):
        await end_session(server.port, requests)
        result = await tools.call(cleared_write("far.restart", {"name": "pump"}))
        assert (result.error, "not sent" in result.content) == ("TRANSPORT_ERROR", True)
        assert (await tools.call(cleared_write("far.restart", {"name": "pump"}))).error is None
    assert len(read_effects(effects)) == 1


async def test_an_answer_that_is_cut_is_asked_for_again_but_the_call_is_not_sent_again(
    requests: Path, tmp_path: Path
) -> None:
    effects = tmp_path / "effects"
    options = ("--events", "--cut", "--requests", str(requests), "--effects", str(effects))
    async with serve_remotely("http", *options) as server, opened(server.configure()) as tools:
        result = await tools.call(cleared_write("far.restart", {"name": "pump"}))
    assert result == ToolResult(content="pump restarted")
    assert len(read_effects(effects)) == 1
    (resumed,) = [entry for entry in read_requests(requests) if "last-event-id" in entry["headers"]]
    assert (resumed["method"], resumed["headers"]["last-event-id"]) == ("GET", "1")


@pytest.mark.parametrize("options", [["http"], ["http", "--events"], ["sse"]])
async def test_an_answer_of_a_hundred_megabytes_is_given_up_early(options: list[Any]) -> None:
    async with serve_remotely(*options) as server, opened(server.configure()) as tools:
        result = await tools.call(cleared_read("far.big", {"bytes": 100 * 1024 * 1024}))
        assert "over 10485760 bytes" in result.content
        assert (await tools.call(cleared_read("far.echo", {"text": "on"}))).content == "on"


@pytest.mark.parametrize("kind", KINDS)
async def test_the_configured_time_limits_a_call(kind: Kind) -> None:
    async with serve_remotely(kind) as server, opened(server.configure(timeout="100ms")) as tools:
        result = await tools.call(cleared_read("far.slow_read", {"seconds": 5}))
    assert result == ToolResult(content="No answer within 0.1 s.", error="TIMEOUT")


@pytest.mark.parametrize("kind", KINDS)
async def test_the_guard_is_asked_once_in_the_callers_task(kind: Kind) -> None:
    asked: list[asyncio.Task[Any] | None] = []
    async with serve_remotely(kind) as server, opened(server.configure()) as tools:
        with guarded(lambda: asked.append(asyncio.current_task())):
            await tools.call(cleared_write("far.restart", {"name": "pump"}))
    assert asked == [asyncio.current_task()]


@pytest.mark.parametrize("options", [["http"], ["http", "--json"], ["sse"]])
async def test_the_official_sdk_server_is_understood(options: list[Any]) -> None:
    async with serve_remotely(*options, program=SDK_SERVER) as server, opened(server.configure()) as tools:
        assert "echo" in {tool.name for tool in await tools.list_tools()}
        assert await tools.call(cleared_read("far.echo", {"text": "hello"})) == ToolResult(content="hello")
        weather = await tools.call(cleared_read("far.weather", {"place": "deck"}))
        assert json.loads(weather.content) == {"place": "deck", "wind": 7}
        assert (await tools.call(cleared_read("far.stumble"))).error == "TOOL_ERROR"
