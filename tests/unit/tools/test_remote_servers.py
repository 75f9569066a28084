"""A tool server behind HTTP that nobody can reach is named as missing, and the others work."""

import asyncio
from typing import Literal

import pytest

from midwatch.config.mcp import McpServer, RemoteTransport
from midwatch.config.safety import Safety
from midwatch.tools.environment import child_environment
from midwatch.tools.workbench import Fittings, open_workbench
from tests.fakes.call_journal import FakeCallJournal
from tests.fakes.mcp_process import fake_mcp_server


def remote(kind: Literal["http", "sse"]) -> McpServer:
    return McpServer(transport=RemoteTransport(type=kind, url="http://127.0.0.1:1/mcp"))


@pytest.mark.parametrize("kind", ["http", "sse"])
async def test_it_is_named_as_unavailable_and_the_others_work(kind: Literal["http", "sse"]) -> None:
    servers = {"far": remote(kind), "deck": fake_mcp_server()}
    async with (
        asyncio.timeout(60),
        open_workbench(
            Fittings(servers=servers, safety=Safety(), journal=FakeCallJournal(), environment={})
        ) as workbench,
    ):
        tools = await workbench.gate.list_tools()
    assert workbench.unavailable == {"far": "tool server far: it cannot be reached: Connection refused"}
    assert {tool.server for tool in tools} == {"deck"}


def test_it_has_no_child_that_could_inherit_anything() -> None:
    assert child_environment(remote("http"), parent={"PATH": "/bin"}) == {}
