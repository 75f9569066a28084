"""A tool server as a toolset. One owner task has its session opened, made anew and closed; any task may call.

Each session is held by a task of its own: the SDK's scopes must be left by the task that entered them.
"""

import asyncio
import random
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import final

import structlog

from midwatch.config.mcp import McpServer, RemoteTransport
from midwatch.domain.errors import DispatchTooLate, ToolServerUnavailable
from midwatch.domain.tools import Clearance, ClearedCall, ToolDefinition, ToolKind, ToolResult
from midwatch.tools.failure import FailureCode, tool_not_found
from midwatch.tools.mcp.connection import Connection, Recipe
from midwatch.tools.mcp.farewell import clean_up
from midwatch.tools.mcp.identity import choose_user
from midwatch.tools.mcp.losses import AnswerRefused, ConnectionLost

log = structlog.get_logger()

INIT_SECONDS = 30.0
_RECREATE_SECONDS = 10.0
_JITTER_SECONDS = (0.25, 0.75)
_REDEFINED = (
    "The call was not sent: the server has changed what it says of this tool since the tool was listed. "
    "Read its description again before you call it."
)


@asynccontextmanager
async def open_mcp_server(
    server_id: str,
    config: McpServer,
    *,
    environment: Mapping[str, str],
    client_id: str = "",
    init_timeout: float = INIT_SECONDS,
) -> AsyncGenerator["McpServerTools"]:
    """Raises ToolServerUnavailable when the server does not come up.

    A child is started with exactly `environment`; a remote server gets `client_id` where its headers ask for one.
    """
    server = McpServerTools(server_id, config, environment=environment, client_id=client_id, init_timeout=init_timeout)
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
        self,
        server_id: str,
        config: McpServer,
        *,
        environment: Mapping[str, str],
        client_id: str,
        init_timeout: float,
    ) -> None:
        self._server_id = server_id
        self._init_timeout = init_timeout
        self._transport = config.transport
        self._client_id = client_id
        self._recipe = Recipe(
            server_id=server_id,
            transport=config.transport,
            client_id=client_id,
            environment=environment,
            user=choose_user(server_id, config),
            on_news=self._tell_owner,
        )
        self._connection: Connection | None = None
        self._wanted: asyncio.Future[Connection | ToolServerUnavailable] | None = None
        """Set while callers wait for a session; all of them wait for the same one."""
        self._is_closing = False
        self._was_open = False
        self._news = asyncio.Event()

    async def list_tools(self) -> Sequence[ToolDefinition]:
        """As the server last listed them; asked again when it has said that they are others."""
        if self._connection is None:
            return ()
        if self._connection.chatter.is_stale:
            await self._refresh(self._connection)
        return tuple(self._connection.tools.values())

    async def probe(self) -> Sequence[ToolDefinition]:
        """Asks the server itself for its tools. Raises ToolServerUnavailable."""
        connection = await self._connect()
        if isinstance(connection, ToolServerUnavailable):
            raise connection
        connection.chatter.is_stale = True
        try:
            await connection.refresh()
        # A third party's server may fail in any way; all of them mean that it is not well.
        except Exception as error:
            reason = f"did not list its tools ({type(error).__name__})"
            raise ToolServerUnavailable(self._server_id, reason) from error
        return tuple(connection.tools.values())

    async def _refresh(self, connection: Connection) -> None:
        try:
            async with asyncio.timeout(_RECREATE_SECONDS):
                await connection.refresh()
        # A third party's server may fail in any way: what it listed before stands until it lists again.
        except Exception as error:  # noqa: BLE001
            log.warning("tool_list_not_refreshed", server=self._server_id, error=type(error).__name__)

    async def call(self, cleared: ClearedCall) -> ToolResult:
        clearance, limit = cleared.clearance, self._limit(cleared.clearance)
        try:
            async with asyncio.timeout(limit):
                return await self._call_or_repeat(cleared)
        except TimeoutError:
            return _fail(FailureCode.TIMEOUT, f"No answer within {limit:g} s.", clearance=clearance)
        except AnswerRefused as error:
            reason = f"Tool server {self._server_id} could not be understood: {error}."
            return _fail(FailureCode.PROTOCOL_ERROR, reason, clearance=clearance)
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
        """The owner task: has one session opened after another, as long as someone wants one."""
        limit, pause = self._init_timeout, 0.0
        try:
            async with asyncio.TaskGroup() as holders:
                while await self._is_needed():
                    await asyncio.sleep(pause)
                    holders.create_task(self._hold_session(limit), name=f"mcp session of {self._server_id}")
                    await self._wait_until(lambda: self._is_closing or self._wanted is None)
                    limit, pause = _RECREATE_SECONDS, random.SystemRandom().uniform(*_JITTER_SECONDS)
        finally:
            self._is_closing = True
            self._publish(ToolServerUnavailable(self._server_id, "closed"))
            if self._was_open and isinstance(self._transport, RemoteTransport):
                await clean_up(self._transport, client_id=self._client_id, server_id=self._server_id)

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
            # Calls that left on this session may still be answered when it is already too old for new ones.
            await self._wait_until(lambda: self._is_closing or connection.is_spent)
            if not self._is_closing:
                log.warning("tool_server_lost", server=self._server_id, reason=connection.link.failure or "it ended")

    def _publish(self, outcome: Connection | ToolServerUnavailable) -> None:
        if isinstance(outcome, Connection):
            self._connection, self._was_open = outcome, True
        wanted, self._wanted = self._wanted, None
        if wanted is not None:
            wanted.set_result(outcome)
        self._tell_owner()

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
            if lost.comes_again or not _is_harmless(cleared.clearance):
                return self._report_loss(lost, clearance=cleared.clearance)
        try:
            return await self._call_once(cleared)
        except ConnectionLost as lost:
            return self._report_loss(lost, clearance=cleared.clearance)

    async def _call_once(self, cleared: ClearedCall) -> ToolResult:
        connection = await self._connect()
        if isinstance(connection, ToolServerUnavailable):
            return ToolResult(content=f"The call was not sent: {connection}.", error=FailureCode.TRANSPORT_ERROR)
        if connection.chatter.is_stale:
            await self._refresh(connection)
        tool = connection.tools.get(cleared.call.name.removeprefix(f"{self._server_id}."))
        if tool is None:
            known = [tool.full_name for tool in connection.tools.values()]
            return tool_not_found(cleared.call.name, known=known)
        if cleared.clearance.is_pinned and tool != cleared.tool:
            return ToolResult(content=_REDEFINED, error=FailureCode.NOT_DISPATCHED)
        return await connection.call(tool.name, cleared.arguments)

    def _report_loss(self, lost: ConnectionLost, *, clearance: Clearance) -> ToolResult:
        if not lost.sent:
            content = f"The call was not sent: tool server {self._server_id}: {lost.reason}."
            return ToolResult(content=content, error=FailureCode.TRANSPORT_ERROR)
        reason = f"The connection to {self._server_id} was lost: {lost.reason}."
        return _fail(FailureCode.TRANSPORT_ERROR, reason, clearance=clearance)

    def _limit(self, clearance: Clearance) -> float:
        own = self._transport.timeout if isinstance(self._transport, RemoteTransport) else None
        return min(clearance.timeout, own.total_seconds()) if own else clearance.timeout


def _is_harmless(clearance: Clearance) -> bool:
    return clearance.proven and clearance.kind in (ToolKind.READ, ToolKind.RESOLVE)


def _fail(code: FailureCode, reason: str, *, clearance: Clearance) -> ToolResult:
    if _is_harmless(clearance):
        return ToolResult(content=reason, error=code)
    doubt = "Whether the change was made is unknown: read the target before you change anything."
    return ToolResult(content=f"{reason} {doubt}", error=code)
