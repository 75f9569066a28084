"""The seam between the gate and everything that can be called."""

from collections.abc import Sequence
from typing import Protocol

from midwatch.domain.tools import ClearedCall, ToolDefinition, ToolResult


class Toolset(Protocol):
    """Takes only calls the gate has cleared. Failures are results; only LeaseLost and cancellation are raised."""

    async def list_tools(self) -> Sequence[ToolDefinition]: ...

    async def call(self, cleared: ClearedCall) -> ToolResult: ...
