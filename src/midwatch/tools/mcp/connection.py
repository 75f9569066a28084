"""One opened session with one MCP server: greeted, its tools listed, ready to be called from any task."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

from mcp import ClientSession, MCPError
from mcp_types import (
    CONNECTION_CLOSED,
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    Implementation,
    PaginatedRequestParams,
)
from pydantic import ValidationError

from midwatch import __version__
from midwatch.config.mcp import StdioTransport
from midwatch.domain.errors import ToolServerUnavailable
from midwatch.domain.tools import ToolDefinition, ToolResult
from midwatch.tools.failure import FailureCode
from midwatch.tools.mcp.answer import read_answer, read_tool
from midwatch.tools.mcp.transport import StdioLink, open_stdio

_CLIENT = Implementation(name="midwatch", version=__version__)
_MAX_PAGES = 100


class ConnectionLost(Exception):
    """The connection broke while a call was on its way: nobody here knows what became of it.

    `failure` says why we ended it, when the server did not end by itself.
    """

    def __init__(self, failure: str | None) -> None:
        super().__init__(failure)
        self.failure = failure


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    link: StdioLink
    session: ClientSession
    tools: Mapping[str, ToolDefinition]

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Raises ConnectionLost, and whatever the dispatch guard raises."""
        params = CallToolRequestParams(name=tool, arguments=dict(arguments))
        try:
            # The session's own `call_tool` would check the answer against the tool's output schema on every call.
            return read_answer(await self.session.send_request(CallToolRequest(params=params), CallToolResult))
        except ValidationError:
            return ToolResult(content="The server's answer is not a valid result.", error=FailureCode.PROTOCOL_ERROR)
        except MCPError as error:
            # A server may use the same code for errors of its own.
            if error.code == CONNECTION_CLOSED and self.link.is_over:
                raise ConnectionLost(self.link.failure) from error
            return ToolResult(content=error.message, error=FailureCode.TOOL_ERROR)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How to open a connection, as often as it takes."""

    server_id: str
    transport: StdioTransport
    environment: Mapping[str, str]
    on_over: Callable[[], None]

    async def open(self, stack: AsyncExitStack, *, limit: float) -> Connection | ToolServerUnavailable:
        """Enters everything on `stack`, which must be closed by the task that called this.

        A failure is returned, because raising it through the SDK's task groups would wrap it.
        """
        try:
            async with asyncio.timeout(limit):
                return await self._connect(stack)
        except TimeoutError:
            return ToolServerUnavailable(self.server_id, f"not ready after {limit:g} s")
        except OSError as error:
            return ToolServerUnavailable(self.server_id, f"cannot be started: {error.strerror or error}")
        # A third party's server and the SDK before it may fail in any way; all of them mean "no server".
        except Exception as error:  # noqa: BLE001
            return ToolServerUnavailable(self.server_id, f"failed to initialise ({type(error).__name__})")

    async def _connect(self, stack: AsyncExitStack) -> Connection:
        link = await stack.enter_async_context(
            open_stdio(
                (self.transport.command, *self.transport.args),
                environment=self.environment,
                server_id=self.server_id,
                on_over=self.on_over,
            )
        )
        session = await stack.enter_async_context(ClientSession(link.incoming, link.outgoing, client_info=_CLIENT))
        await _greet(session)
        return Connection(link=link, session=session, tools=await self._list_tools(session))

    async def _list_tools(self, session: ClientSession) -> dict[str, ToolDefinition]:
        tools: dict[str, ToolDefinition] = {}
        cursor: str | None = None
        for _ in range(_MAX_PAGES):
            page = await session.list_tools(params=PaginatedRequestParams(cursor=cursor))
            tools |= {tool.name: read_tool(tool, server=self.server_id) for tool in page.tools}
            cursor = page.next_cursor
            if cursor is None:
                break
        return tools


async def _greet(session: ClientSession) -> None:
    """The old handshake first: some servers end themselves when the first word is a newer one."""
    try:
        await session.initialize()
    except MCPError as error:
        if error.code == CONNECTION_CLOSED:
            raise
        await session.discover()
