"""Only the tools that were chosen for an investigation: the others are neither listed nor called."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

from midwatch.domain.tools import ClearedCall, ToolDefinition, ToolResult
from midwatch.tools.failure import tool_not_found
from midwatch.tools.toolset import Toolset


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Selected:
    inner: Toolset
    chosen: Mapping[str, frozenset[str]]
    """Tool names by server id; a server that is missing here keeps all its tools."""

    async def list_tools(self) -> Sequence[ToolDefinition]:
        return [tool for tool in await self.inner.list_tools() if self._is_chosen(tool.server, tool.name)]

    async def call(self, cleared: ClearedCall) -> ToolResult:
        if not self._is_chosen(cleared.tool.server, cleared.tool.name):
            known = [tool.full_name for tool in await self.list_tools()]
            return tool_not_found(cleared.call.name, known=known)
        return await self.inner.call(cleared)

    def _is_chosen(self, server: str, tool: str) -> bool:
        return server not in self.chosen or tool in self.chosen[server]
