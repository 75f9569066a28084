"""Tool servers that are open together: each opened at its first use, shared by whoever asks, closed with the scope."""

import asyncio
from collections.abc import AsyncGenerator, Collection, Mapping
from contextlib import asynccontextmanager
from contextvars import Context, copy_context
from dataclasses import dataclass
from typing import final

import structlog

from midwatch.config.mcp import McpServer
from midwatch.domain.errors import ToolServerUnavailable
from midwatch.tools.environment import child_environment
from midwatch.tools.mcp.server import INIT_SECONDS, McpServerTools, open_mcp_server

log = structlog.get_logger()

_CRASHED = "it could not be kept open"


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """How servers are opened. `environment` is ours: a child inherits what it may, and never `secret_names`."""

    environment: Mapping[str, str]
    secret_names: Collection[str] = ()
    client_id: str = ""
    """What remote servers are told for `{{.SESSION_ID}}`."""
    init_timeout: float = INIT_SECONDS


@final
class ServerScope:
    """Made by `open_server_scope`."""

    def __init__(self, opening: Opening, *, group: asyncio.TaskGroup) -> None:
        self._opening = opening
        self._group = group
        # Whoever asks first is not whom the server belongs to: its logs carry the scope's own names.
        self._context: Context = copy_context()
        self._held: dict[str, asyncio.Future[McpServerTools | str]] = {}
        self._release = asyncio.Event()

    async def open(self, name: str, server: McpServer) -> McpServerTools | str:
        """The server, or the reason why it is not there. One that has died since is opened anew."""
        held = self._held.get(name)
        if held is None:
            held = self._held[name] = self._start(name, server)
        # Whoever is cancelled while waiting must not take it from the others.
        outcome = await asyncio.shield(held)
        if isinstance(outcome, str):
            if self._held.get(name) is held:
                del self._held[name]
            return outcome
        try:
            await outcome.wait_open()
        except ToolServerUnavailable as error:
            return str(error)
        return outcome

    def release(self) -> None:
        self._release.set()

    def _start(self, name: str, server: McpServer) -> asyncio.Future[McpServerTools | str]:
        outcome: asyncio.Future[McpServerTools | str] = asyncio.get_running_loop().create_future()
        holding = self._hold(name, server, outcome=outcome)
        self._group.create_task(holding, name=f"hold {name}", context=self._context.copy())
        return outcome

    async def _hold(self, name: str, server: McpServer, *, outcome: asyncio.Future[McpServerTools | str]) -> None:
        given = self._opening
        environment = child_environment(server, parent=given.environment, secret_names=given.secret_names)
        try:
            async with open_mcp_server(
                name, server, environment=environment, client_id=given.client_id, init_timeout=given.init_timeout
            ) as tools:
                outcome.set_result(tools)
                await self._release.wait()
        except ToolServerUnavailable as error:
            outcome.set_result(str(error))
        # The boundary of one server: its trouble must not close the others.
        except Exception:
            log.exception("tool_server_crashed", server=name)
            self._held.pop(name, None)
            if not outcome.done():
                outcome.set_result(str(ToolServerUnavailable(name, _CRASHED)))


@asynccontextmanager
async def open_server_scope(opening: Opening) -> AsyncGenerator[ServerScope]:
    failure: Exception | None = None
    async with asyncio.TaskGroup() as group:
        scope = ServerScope(opening, group=group)
        try:
            yield scope
        # The group would wrap it, and callers catch LeaseLost and the like by their class.
        except Exception as error:  # noqa: BLE001
            failure = error
        finally:
            scope.release()
    if failure is not None:
        raise failure


@dataclass(frozen=True, slots=True, kw_only=True)
class Scopes:
    """What outlives an execution. Where a scope is missing, the execution's own stands in."""

    replica: ServerScope | None = None
    investigation: ServerScope | None = None

    def choose(self, server: McpServer, *, execution: ServerScope) -> ServerScope:
        if server.shared:
            return self.replica or execution
        if server.isolation == "execution":
            return execution
        return self.investigation or execution


async def open_servers(
    servers: Mapping[str, McpServer], *, scopes: Scopes, execution: ServerScope
) -> dict[str, McpServerTools | str]:
    """Side by side, each where it belongs; by id, or the reason why it is not there."""
    async with asyncio.TaskGroup() as group:
        tasks = {
            name: group.create_task(scopes.choose(server, execution=execution).open(name, server))
            for name, server in servers.items()
        }
    return {name: task.result() for name, task in tasks.items()}
