"""Many toolsets as one: a call goes to the server its tool was listed by, whatever the tool is called."""

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
        toolset = self.toolsets.get(cleared.tool.server)
        if toolset is None:
            known = [tool.full_name for tool in await self.list_tools()]
            return tool_not_found(cleared.call.name, known=known)
        return await toolset.call(cleared)
