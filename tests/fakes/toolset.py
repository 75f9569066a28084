"""A toolset in memory that asks its dispatch guard as a transport does, and can hold calls until it is told."""

import asyncio
from collections.abc import Sequence

from midwatch.domain.tools import ClearedCall, ToolDefinition, ToolResult
from midwatch.tools.dispatch import check_dispatch


def define_tool(full_name: str, *, read_only_hint: bool | None = None) -> ToolDefinition:
    server, _, name = full_name.partition(".")
    return ToolDefinition(server=server, name=name, description="", schema={}, read_only_hint=read_only_hint)


class FakeToolset:
    def __init__(self, *tools: ToolDefinition, log: list[str]) -> None:
        self.tools: Sequence[ToolDefinition] = tools
        self.log = log
        self.calls: list[ClearedCall] = []
        self.results: dict[str, ToolResult] = {}
        self.arrived = asyncio.Semaphore(0)
        """Released once for every call that has reached the tool."""
        self.released = asyncio.Event()
        self.released.set()

    async def list_tools(self) -> Sequence[ToolDefinition]:
        self.log.append("list")
        return self.tools

    async def call(self, cleared: ClearedCall) -> ToolResult:
        check_dispatch()
        self.calls.append(cleared)
        self.log.append(f"run {cleared.call.name}")
        self.arrived.release()
        await self.released.wait()
        return self.results.get(cleared.call.name, ToolResult(content=f"ran {cleared.call.name}"))
