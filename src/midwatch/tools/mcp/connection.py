"""One opened session with one MCP server: greeted, its tools listed, ready to be called from any task."""

import asyncio
import errno
import os
import shutil
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol, assert_never

from mcp import ClientSession, MCPError
from mcp.shared._stream_protocols import ReadStream, WriteStream
from mcp.shared.message import SessionMessage
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
from midwatch.config.mcp import RemoteTransport, StdioTransport, Transport
from midwatch.domain.errors import ToolServerUnavailable
from midwatch.domain.tools import ToolDefinition, ToolResult
from midwatch.kit.users import User
from midwatch.tools.failure import FailureCode
from midwatch.tools.mcp.answer import read_answer, read_tool
from midwatch.tools.mcp.chatter import Chatter
from midwatch.tools.mcp.event_stream import open_event_stream
from midwatch.tools.mcp.identity import move_in
from midwatch.tools.mcp.losses import AnswerRefused, ConnectionLost
from midwatch.tools.mcp.streamable import open_streamable
from midwatch.tools.mcp.transport import open_stdio

_CLIENT = Implementation(name="midwatch", version=__version__)
_MAX_PAGES = 100


class Link(Protocol):
    """A way to a server and back. The SDK's session reads `incoming` and writes `outgoing`."""

    @property
    def is_over(self) -> bool:
        """A new call needs a new link."""
        ...

    @property
    def failure(self) -> str | None:
        """Why we stopped listening to the server, when it did not end by itself."""
        ...

    @property
    def incoming(self) -> ReadStream[SessionMessage]: ...

    @property
    def outgoing(self) -> WriteStream[SessionMessage]: ...


@dataclass(slots=True, kw_only=True)
class Connection:
    link: Link
    session: ClientSession
    tools: Mapping[str, ToolDefinition]
    on_idle: Callable[[], None]
    chatter: Chatter
    list_anew: Callable[[], Awaitable[Mapping[str, ToolDefinition]]]
    _running: int = field(default=0, init=False)

    @property
    def is_spent(self) -> bool:
        """Takes no more calls, and none is still on its way."""
        return self.link.is_over and self._running == 0

    async def refresh(self) -> None:
        """Lists the tools again if the server has said that they are others. Raises whatever the SDK raises."""
        if self.chatter.is_stale:
            # Before the answer: what changes while it is on its way is asked for once more.
            self.chatter.is_stale = False
            try:
                self.tools = await self.list_anew()
            except BaseException:
                self.chatter.is_stale = True
                raise

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Raises ConnectionLost, AnswerRefused and whatever the dispatch guard raises."""
        params = CallToolRequestParams(name=tool, arguments=dict(arguments))
        self._running += 1
        try:
            # The session's own `call_tool` would check the answer against the tool's output schema on every call.
            with self.chatter.attended() as heard:
                request = CallToolRequest(params=params)
                return read_answer(await self.session.send_request(request, CallToolResult, progress_callback=heard))
        except ValidationError:
            raise AnswerRefused("its answer is not a valid result") from None
        except MCPError as error:
            # A server may use the same code for errors of its own.
            if error.code == CONNECTION_CLOSED and self.link.is_over:
                failure = self.link.failure
                raise ConnectionLost(failure or "it ended", comes_again=failure is not None) from error
            return ToolResult(content=error.message, error=FailureCode.TOOL_ERROR)
        finally:
            self._running -= 1
            if self.is_spent:
                self.on_idle()


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How to open a connection, as often as it takes."""

    server_id: str
    transport: Transport
    client_id: str
    environment: Mapping[str, str]
    user: User | None
    on_news: Callable[[], None]
    """Told that a link is over, or that a call has ended."""

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
            return ToolServerUnavailable(self.server_id, self._describe_failed_start(error))
        except (ConnectionLost, AnswerRefused) as error:
            return ToolServerUnavailable(self.server_id, f"{error}{self._as_whom()}")
        # A third party's server and the SDK before it may fail in any way; all of them mean "no server".
        except Exception as error:  # noqa: BLE001
            reason = f"failed to initialise{self._as_whom()}: {_describe_failed_greeting(error)}"
            return ToolServerUnavailable(self.server_id, reason)

    def _describe_failed_start(self, error: OSError) -> str:
        command = self.transport.command if isinstance(self.transport, StdioTransport) else ""
        if shutil.which(command, path=self.environment.get("PATH")) is None:
            # Asked as another user, the kernel may only say that it was not allowed to look.
            return f"cannot be started: {os.strerror(errno.ENOENT)}"
        whom = self._as_whom() if isinstance(error, PermissionError) else ""
        return f"cannot be started{whom}: {error.strerror or error}"

    def _as_whom(self) -> str:
        return "" if self.user is None else f" as user {self.user.name} (see run_as)"

    async def _connect(self, stack: AsyncExitStack) -> Connection:
        link = await self._open_link(stack)
        chatter = Chatter()
        session = await stack.enter_async_context(
            ClientSession(
                link.incoming,
                link.outgoing,
                client_info=_CLIENT,
                logging_callback=chatter.hear_log,
                message_handler=chatter.hear_message,
            )
        )
        return Connection(
            link=link,
            session=session,
            tools=await self._ask_for_tools(link, session),
            on_idle=self.on_news,
            chatter=chatter,
            list_anew=partial(self._list_tools, session),
        )

    async def _ask_for_tools(self, link: Link, session: ClientSession) -> dict[str, ToolDefinition]:
        try:
            await _greet(session)
            return await self._list_tools(session)
        except MCPError as error:
            if link.is_over or error.code == CONNECTION_CLOSED:
                raise ConnectionLost(link.failure or "it ended before it was ready") from error
            raise

    async def _open_link(self, stack: AsyncExitStack) -> Link:
        match self.transport:
            case StdioTransport() as local:
                return await stack.enter_async_context(
                    open_stdio(
                        (local.command, *local.args),
                        environment=self._child_environment(local),
                        user=self.user,
                        server_id=self.server_id,
                        on_over=self.on_news,
                    )
                )
            case RemoteTransport(type="http") as remote:
                opening = open_streamable(remote, client_id=self.client_id, on_over=self.on_news)
                return await stack.enter_async_context(opening)
            case RemoteTransport() as remote:
                opening = open_event_stream(remote, client_id=self.client_id, on_over=self.on_news)
                link = await stack.enter_async_context(opening)
                await link.wait_ready()
                return link
            case _ as never:
                assert_never(never)

    def _child_environment(self, transport: StdioTransport) -> Mapping[str, str]:
        return self.environment if self.user is None else move_in(self.environment, self.user, written=transport.env)

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


def _describe_failed_greeting(error: Exception) -> str:
    """Without a word of the server's own."""
    if isinstance(error, MCPError):
        return f"it refused (error {error.code})"
    return f"its answer could not be understood ({type(error).__name__})"


async def _greet(session: ClientSession) -> None:
    """The old handshake first: some servers end themselves when the first word is a newer one."""
    try:
        await session.initialize()
    except MCPError as error:
        if error.code == CONNECTION_CLOSED:
            raise
        await session.discover()
