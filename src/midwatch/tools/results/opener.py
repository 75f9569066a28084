"""`result.search`, `result.slice` and `result.query`: a model looks again at what a tool answered before."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, final

from midwatch.domain.errors import StoreUnavailable
from midwatch.domain.results import name_result, read_name
from midwatch.domain.tools import ClearedCall, ToolDefinition, ToolResult
from midwatch.masking.mask import Mask, mask_result
from midwatch.store.results import KEPT, StoredResult
from midwatch.tools.failure import FailureCode
from midwatch.tools.results.ask_child import ask_child
from midwatch.tools.results.definitions import RESULT_TOOLS, SLICE
from midwatch.tools.results.passage import show_characters, show_lines
from midwatch.tools.results.shelf import Shelf

_AT_ONCE = 2
"""Children of one execution."""
_BY_CHARACTERS = ("from_character", "characters")
_BY_LINES = ("from_line", "lines")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ResultTools:
    shelf: Shelf
    masks: Mapping[str, Mask]
    """By the id of the server that answered."""
    default: Mask
    """For results of servers that are no longer configured."""
    _turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_AT_ONCE))

    async def list_tools(self) -> Sequence[ToolDefinition]:
        return RESULT_TOOLS if await self.shelf.has_something() else ()

    async def call(self, cleared: ClearedCall) -> ToolResult:
        arguments = dict(cleared.arguments)
        name = str(arguments.pop("result"))
        try:
            stored = await self._find(name)
            if stored is None:
                return await self._explain_missing(name)
        except StoreUnavailable:
            return ToolResult(content="Results cannot be read just now; try again.", error=FailureCode.TOOL_ERROR)
        async with self._turns:
            answer = await _look(cleared.tool, stored, arguments)
        mask = self.masks.get(stored.tool_name.partition(".")[0], self.default)
        # Masked when it was stored; a mask that has since learnt more applies as well.
        told = f"[{_describe(stored)}]\n{answer.content}"
        return ToolResult(content=mask_result(mask, told), error=answer.error)

    async def _find(self, name: str) -> StoredResult | None:
        tail = read_name(name)
        return None if tail is None else await self.shelf.find(tail)

    async def _explain_missing(self, name: str) -> ToolResult:
        known = [
            f"{name_result(call)} ({tool}, {size:,} characters)" for call, tool, size in await self.shelf.list_long()
        ]
        hint = f" There are: {', '.join(known)}." if known else ""
        return ToolResult(content=f"This session has no result {name[:40]!r}.{hint}", error=FailureCode.TOOL_ERROR)


async def _look(tool: ToolDefinition, stored: StoredResult, arguments: dict[str, Any]) -> ToolResult:
    content = await asyncio.to_thread(stored.unpack)
    if tool is SLICE or tool.name == SLICE.name:
        return await asyncio.to_thread(_slice, content, arguments)
    return await ask_child(tool.name, content.encode(), arguments)


def _slice(content: str, arguments: Mapping[str, Any]) -> ToolResult:
    by_characters = {name: arguments[name] for name in _BY_CHARACTERS if name in arguments}
    by_lines = {name: arguments[name] for name in _BY_LINES if name in arguments}
    if by_characters and by_lines:
        return ToolResult(content="Give lines or characters, not both.", error=FailureCode.TOOL_ERROR)
    show = show_characters(content, **by_characters) if by_characters else show_lines(content, **by_lines)
    return ToolResult(content=show)


def _describe(stored: StoredResult) -> str:
    told = f"result {name_result(stored.call_id)} of {stored.tool_name}, {stored.characters:,} characters"
    if stored.is_whole:
        return told
    return f"{told}; it was kept whole for {KEPT.days} days, and this is what is left of it"
