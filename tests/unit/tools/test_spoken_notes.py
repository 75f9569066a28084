"""What the official SDK's server says on its own, over every transport: how a call fares, and that tools changed."""

import asyncio
import itertools
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from midwatch.domain.tools import CallNote
from midwatch.tools.mcp.server import McpServerTools, open_mcp_server
from midwatch.tools.notes import listening
from tests.fakes.cleared_calls import cleared_read
from tests.fakes.mcp_process import SDK_SERVER, fake_mcp_server
from tests.fakes.mcp_remote import Kind, serve_remotely
from tests.waiting import eventually

Running = Callable[[], AbstractAsyncContextManager[McpServerTools]]


@asynccontextmanager
async def over_stdio() -> AsyncGenerator[McpServerTools]:
    async with (
        asyncio.timeout(60),
        open_mcp_server("sdk", fake_mcp_server(program=SDK_SERVER), environment={}) as tools,
    ):
        yield tools


def remotely(kind: Kind) -> Running:
    @asynccontextmanager
    async def over_http() -> AsyncGenerator[McpServerTools]:
        async with (
            asyncio.timeout(60),
            serve_remotely(kind, program=SDK_SERVER) as server,
            open_mcp_server("sdk", server.configure(), environment={}) as tools,
        ):
            yield tools

    return over_http


TRANSPORTS: dict[str, Running] = {"stdio": over_stdio, "http": remotely("http"), "sse": remotely("sse")}


@pytest.fixture(params=list(TRANSPORTS))
def running(request: pytest.FixtureRequest) -> Running:
    return TRANSPORTS[request.param]


async def test_progress_and_log_of_a_call_reach_whoever_listens_to_it(running: Running) -> None:
    notes: list[CallNote] = []
    ticks = itertools.count()
    async with running() as tools:
        with listening(notes.append, clock=lambda: float(next(ticks))):
            result = await tools.call(cleared_read("sdk.labour"))
        assert (await tools.call(cleared_read("sdk.labour"))).content == "done", "nobody has to listen"
    assert result.content == "done"
    assert notes == [
        CallNote(message="half of it", progress=1.0, total=2.0),
        CallNote(message="so far so good", level="info"),
    ]


async def test_a_list_that_changed_is_listed_anew(running: Running) -> None:
    async with running() as tools:
        assert "grown" not in {tool.name for tool in await tools.list_tools()}

        async def has_grown() -> bool:
            # Said once more as long as nobody was listening yet: over HTTP that is a request of its own.
            await tools.call(cleared_read("sdk.grow"))
            return "grown" in {tool.name for tool in await tools.list_tools()}

        await eventually(has_grown)
        assert (await tools.call(cleared_read("sdk.grown", {"text": "new"}))).content == "new"
