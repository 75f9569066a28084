"""Many toolsets as one: a call goes to the toolset named before the first dot of `server.tool`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

from midwatch.domain.tools import ClearedCall, ToolDefinition, ToolResult
from midwatch.tools.failure import tool_not_found
from midwatch.tools.toolset import Toolset


@final
@dataclass(frozen=True, slots=True)
class Combined:
    toolsets: Mapping[str, Toolset]

    async def list_tools(self) -> Sequence[ToolDefinition]:
        return [tool for toolset in self.toolsets.values() for tool in await toolset.list_tools()]

    async def call(self, cleared: ClearedCall) -> ToolResult:
        server, _, tool = cleared.call.name.partition(".")
        toolset = self.toolsets.get(server)
        if toolset is None or not tool:
            known = [tool.full_name for tool in await self.list_tools()]
            return tool_not_found(cleared.call.name, known=known)
        return await toolset.call(cleared)
