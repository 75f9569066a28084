"""Where a long result gives way to a summary, after it was journalled and before a model reads it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, final

from midwatch.domain.tools import ClearedCall, ToolCall, ToolDefinition, ToolResult
from midwatch.tools.toolset import Toolset


class Digest(Protocol):
    async def __call__(self, call: ToolCall, result: ToolResult) -> ToolResult:
        """What the model reads instead, committed; in a failure the result itself, as far as it can be read.

        Raises LeaseLost.
        """
        ...


async def keep_as_it_is(call: ToolCall, result: ToolResult) -> ToolResult:  # noqa: ARG001 -- as the protocol has it
    """For whoever has nobody to sum up: nothing awaits a summary then."""
    return result


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Summarised:
    inner: Toolset
    digest: Digest = keep_as_it_is

    async def list_tools(self) -> Sequence[ToolDefinition]:
        return await self.inner.list_tools()

    async def call(self, cleared: ClearedCall) -> ToolResult:
        result = await self.inner.call(cleared)
        awaits = result.awaits_summary and not cleared.call.is_own
        return await self.digest(cleared.call, result) if awaits else result
