"""The real `midwatch-host` in a real process, spoken to as Midwatch speaks to it."""

import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from midwatch.config.mcp import OURSELVES, McpServer, StdioTransport
from midwatch.domain.tools import ToolDefinition
from midwatch.kit.json import decode
from midwatch.tools.mcp.server import McpServerTools, open_mcp_server
from tests.fakes.cleared_calls import cleared_read

_NOTHING: Mapping[str, str] = {}
MODULE = ("-m", "midwatch.bundled.host")


@dataclass(frozen=True, slots=True)
class HostTools:
    tools: McpServerTools

    async def ask(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        result = await self.tools.call(cleared_read(f"host.{tool}", arguments, timeout=30))
        assert result.error is None, result.content
        assert len(result.content) <= 12_000
        return decode(result.content)

    async def refusal(self, tool: str, /, **arguments: Any) -> str:
        result = await self.tools.call(cleared_read(f"host.{tool}", arguments, timeout=30))
        assert result.error == "TOOL_ERROR", result.content
        return result.content

    async def list(self) -> dict[str, ToolDefinition]:
        return {tool.name: tool for tool in await self.tools.list_tools()}


@asynccontextmanager
async def running_host(
    *flags: str, environment: Mapping[str, str] = _NOTHING, wrapper: Sequence[str] = ()
) -> AsyncGenerator[HostTools]:
    """`wrapper` is a command that starts the server, such as `unshare`."""
    command, *arguments = [*wrapper, sys.executable, *MODULE, *flags]
    transport = StdioTransport(type="stdio", command=command, args=tuple(arguments))
    config = McpServer(transport=transport, run_as=OURSELVES)
    async with open_mcp_server("host", config, environment=environment) as tools:
        yield HostTools(tools)
