"""A tool server as a toolset. One owner task opens, re-creates and closes its session; any task may call.

Only that task may: the SDK's scopes must be left by the task that entered them.
"""

import asyncio
import random
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import final

import structlog

from midwatch.config.mcp import McpServer, StdioTransport
from midwatch.domain.errors import DispatchTooLate, ToolServerUnavailable
from midwatch.domain.tools import Clearance, ClearedCall, ToolDefinition, ToolKind, ToolResult
from midwatch.tools.failure import FailureCode, tool_not_found
from midwatch.tools.mcp.connection import Connection, ConnectionLost, Recipe

log = structlog.get_logger()

INIT_SECONDS = 30.0
_RECREATE_SECONDS = 10.0
_JITTER_SECONDS = (0.25, 0.75)


@asynccontextmanager
async def open_mcp_server(
    server_id: str, config: McpServer, *, environment: Mapping[str, str], init_timeout: float = INIT_SECONDS
) -> AsyncGenerator["McpServerTools"]:
    """Starts the server with exactly `environment`. Raises ToolServerUnavailable when it does not come up."""
    transport = config.transport
    if not isinstance(transport, StdioTransport):
        raise ToolServerUnavailable(server_id, f"transport {transport.type} is not supported by this version yet")
    server = McpServerTools(server_id, transport, environment=environment, init_timeout=init_timeout)
    failure: BaseException | None = None
    async with asyncio.TaskGroup() as group:
        owner = group.create_task(server.own(), name=f"mcp server {server_id}")
        try:
            await server.wait_open()
            yield server
        # Kept until the group is done, which would wrap it: callers catch LeaseLost and the like by their class.
        except BaseException as error:  # noqa: BLE001
            failure = error
        finally:
            server.close()
            # It may be in the middle of opening a session that nobody waits for any more.
            owner.cancel()
    if failure is not None:
        raise failure


@final
class McpServerTools:
    """The toolset of one server. Made by `open_mcp_server`."""

    def __init__(
        self, server_id: str, transport: StdioTransport, *, environment: Mapping[str, str], init_timeout: float
    ) -> None:
        self._server_id = server_id
        self._init_timeout = init_timeout
        self._recipe = Recipe(
            server_id=server_id, transport=transport, environment=environment, on_over=self._tell_owner
        )
        self._connection: Connection | None = None
        self._wanted: asyncio.Future[Connection | ToolServerUnavailable] | None = None
        """Set while callers wait for a session; all of them wait for the same one."""
        self._is_closing = False
        self._news = asyncio.Event()

    async def list_tools(self) -> Sequence[ToolDefinition]:
        return () if self._connection is None else tuple(self._connection.tools.values())

    async def call(self, cleared: ClearedCall) -> ToolResult:
        clearance = cleared.clearance
        try:
            async with asyncio.timeout(clearance.timeout):
                return await self._call_or_repeat(cleared)
        except TimeoutError:
            return _fail(FailureCode.TIMEOUT, f"No answer within {clearance.timeout:g} s.", clearance=clearance)
        except DispatchTooLate:
            return ToolResult(
                content="The call was not sent: its time was over before it could be.", error=FailureCode.NOT_DISPATCHED
            )

    async def wait_open(self) -> None:
        """Raises ToolServerUnavailable."""
        connection = await self._connect()
        if isinstance(connection, ToolServerUnavailable):
            raise connection

    def close(self) -> None:
        self._is_closing = True
        self._tell_owner()

    async def own(self) -> None:
        """The owner task: holds one session after another, as long as someone wants one."""
        limit, pause = self._init_timeout, 0.0
        try:
            while await self._is_needed():
                await asyncio.sleep(pause)
                await self._hold_session(limit)
                limit, pause = _RECREATE_SECONDS, random.SystemRandom().uniform(*_JITTER_SECONDS)
        finally:
            self._is_closing = True
            self._publish(ToolServerUnavailable(self._server_id, "closed"))

    async def _is_needed(self) -> bool:
        await self._wait_until(lambda: self._is_closing or self._wanted is not None)
        return not self._is_closing

    async def _hold_session(self, limit: float) -> None:
        async with AsyncExitStack() as stack:
            connection = await self._recipe.open(stack, limit=limit)
            self._publish(connection)
            if isinstance(connection, ToolServerUnavailable):
                log.warning("tool_server_unavailable", server=self._server_id, reason=str(connection))
                return
            await self._wait_until(lambda: self._is_closing or connection.link.is_over)
            if not self._is_closing:
                log.warning("tool_server_lost", server=self._server_id, reason=connection.link.failure or "it ended")

    def _publish(self, outcome: Connection | ToolServerUnavailable) -> None:
        if isinstance(outcome, Connection):
            self._connection = outcome
        wanted, self._wanted = self._wanted, None
        if wanted is not None:
            wanted.set_result(outcome)

    async def _wait_until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            self._news.clear()
            await self._news.wait()

    def _tell_owner(self) -> None:
        self._news.set()

    async def _connect(self) -> Connection | ToolServerUnavailable:
        if self._connection is not None and not self._connection.link.is_over:
            return self._connection
        if self._is_closing:
            return ToolServerUnavailable(self._server_id, "closed")
        if self._wanted is None:
            self._wanted = asyncio.get_running_loop().create_future()
            self._tell_owner()
        # A caller that is cancelled must not cancel what the others wait for.
        return await asyncio.shield(self._wanted)

    async def _call_or_repeat(self, cleared: ClearedCall) -> ToolResult:
        try:
            return await self._call_once(cleared)
        except ConnectionLost as lost:
            # What we ended ourselves, an answer that was too large, would only come again.
            if lost.failure is not None or not _is_harmless(cleared.clearance):
                return self._report_loss(lost, clearance=cleared.clearance)
        try:
            return await self._call_once(cleared)
        except ConnectionLost as lost:
            return self._report_loss(lost, clearance=cleared.clearance)

    async def _call_once(self, cleared: ClearedCall) -> ToolResult:
        connection = await self._connect()
        if isinstance(connection, ToolServerUnavailable):
            return ToolResult(content=f"The call was not sent: {connection}.", error=FailureCode.TRANSPORT_ERROR)
        tool = cleared.call.name.removeprefix(f"{self._server_id}.")
        if tool not in connection.tools:
            known = [tool.full_name for tool in connection.tools.values()]
            return tool_not_found(cleared.call.name, known=known)
        return await connection.call(tool, cleared.arguments)

    def _report_loss(self, lost: ConnectionLost, *, clearance: Clearance) -> ToolResult:
        reason = f"The connection to {self._server_id} was lost: {lost.failure or 'it ended'}."
        return _fail(FailureCode.TRANSPORT_ERROR, reason, clearance=clearance)


def _is_harmless(clearance: Clearance) -> bool:
    return clearance.proven and clearance.kind in (ToolKind.READ, ToolKind.RESOLVE)


def _fail(code: FailureCode, reason: str, *, clearance: Clearance) -> ToolResult:
    if _is_harmless(clearance):
        return ToolResult(content=reason, error=code)
    doubt = "Whether the change was made is unknown: read the target before you change anything."
    return ToolResult(content=f"{reason} {doubt}", error=code)
