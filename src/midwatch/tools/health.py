"""Looks at every tool server in use, again and again, so that people hear of one that is gone before an alert needs it.

A server that is not shared is watched over a session of the monitor's own, which stays open: starting a process for
each look would cost more than it tells.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Protocol, final

import structlog

from midwatch.config.mcp import McpServer
from midwatch.domain.errors import StoreUnavailable, ToolServerUnavailable
from midwatch.domain.tools import ToolCall, ToolDefinition, ToolResult
from midwatch.kit.ids import new_id
from midwatch.tools.gate import Gate, NoPins, Pins
from midwatch.tools.sightings import Sightings
from midwatch.tools.toolset import Toolset
from midwatch.tools.workbench import build_checking_gate

INTERVAL_SECONDS = 15.0
CHECK_SECONDS = 5.0
_LONGEST_ERROR = 300
_NOT_A_READ = "READ_ONLY_VIOLATION"

log = structlog.get_logger()


class Server(Toolset, Protocol):
    async def probe(self) -> Sequence[ToolDefinition]:
        """Asks the server itself for its tools. Raises ToolServerUnavailable."""
        ...


class Opener(Protocol):
    async def open(self, name: str, server: McpServer) -> Server | str:
        """The server, or the reason why it is not there."""
        ...


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class HealthMonitor:
    servers: Mapping[str, McpServer]
    """Those that an alert may need."""
    sightings: Sightings
    shared: Opener
    """Holds the sessions that investigations use too."""
    open_scope: Callable[[], AbstractAsyncContextManager[Opener]]
    """For a session of the monitor's own, which ends with the block."""
    pins: Pins = field(default_factory=NoPins)
    interval: float = INTERVAL_SECONDS
    limit: float = CHECK_SECONDS

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for name, server in self.servers.items():
                group.create_task(self._keep_watching(name, server), name=f"health of {name}")

    async def _keep_watching(self, name: str, server: McpServer) -> None:
        while True:
            try:
                await self._watch(name, server)
            except ToolServerUnavailable as error:
                self.sightings.note_unavailable({name: str(error)})
            # The boundary of one server: its trouble must not end the watch over the others.
            except Exception:
                log.exception("health_check_crashed", server=name)
            await asyncio.sleep(self.interval)

    async def _watch(self, name: str, server: McpServer) -> None:
        """Until something is wrong. Raises ToolServerUnavailable."""
        if server.shared:
            await self._watch_over(name, server, opener=self.shared)
            return
        async with self.open_scope() as own:
            await self._watch_over(name, server, opener=own)

    async def _watch_over(self, name: str, server: McpServer, *, opener: Opener) -> None:
        opened = await opener.open(name, server)
        if isinstance(opened, str):
            raise ToolServerUnavailable(name, opened.removeprefix(f"tool server {name}: "))
        gate = build_checking_gate(name, server, toolset=opened, pins=self.pins, call_timeout=self.limit)
        while True:
            tools, remark = await self._check(name, server, opened=opened, gate=gate)
            self.sightings.note_opened([name], tools, remark=remark)
            await asyncio.sleep(self.interval)

    async def _check(
        self, name: str, server: McpServer, *, opened: Server, gate: Gate
    ) -> tuple[Sequence[ToolDefinition], str | None]:
        try:
            async with asyncio.timeout(self.limit):
                tools = await opened.probe()
        except TimeoutError:
            raise ToolServerUnavailable(name, f"no answer within {self.limit:g} s") from None
        try:
            await gate.list_tools()
        except StoreUnavailable:
            # Whether tools have changed is looked at again next time; the server is not to blame.
            return tools, None
        return tools, await self._call_tool(name, server.health_check_tool, gate=gate)

    async def _call_tool(self, name: str, tool: str | None, *, gate: Gate) -> str | None:
        """What the operator should know, although the server is well. Raises ToolServerUnavailable when it is not."""
        if tool is None:
            return None
        result = await gate.call(ToolCall(call_id=new_id(), provider_id="health", name=f"{name}.{tool}", arguments=""))
        assert isinstance(result, ToolResult)  # noqa: S101 -- nobody is asked about a look
        if result.error == _NOT_A_READ:
            return f"health_check_tool {tool} is not called: it is not known to only read (see kinds.read)"
        if result.error is not None:
            raise ToolServerUnavailable(name, f"health_check_tool {tool}: {_describe(result)}")
        return None


def _describe(result: ToolResult) -> str:
    return f"{result.error}: {' '.join(result.content.split())}"[:_LONGEST_ERROR]
