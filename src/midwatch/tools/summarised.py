"""Where long results will be shortened; until then every result passes as it is."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from midwatch.domain.tools import ClearedCall, ToolDefinition, ToolResult
from midwatch.tools.toolset import Toolset


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Summarised:
    inner: Toolset

    async def list_tools(self) -> Sequence[ToolDefinition]:
        return await self.inner.list_tools()

    async def call(self, cleared: ClearedCall) -> ToolResult:
        return await self.inner.call(cleared)
