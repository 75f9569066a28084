"""Hides secrets in results before anything else sees them, failures included. What cannot be masked is withheld."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import final

import structlog

from midwatch.domain.markers import escape_forged_markers
from midwatch.domain.tools import CallNote, ClearedCall, ToolDefinition, ToolResult
from midwatch.masking.mask import WITHHELD, Mask, mask_result
from midwatch.tools.notes import listening
from midwatch.tools.toolset import Toolset

log = structlog.get_logger()

_LARGE = 256 * 1024
"""Characters from which on masking would hold up the event loop."""
_LONGEST_NOTE = 16 * 1024
"""Characters; a longer one is not shown. Cut before it is masked, it could show half a secret."""


def _show_nobody(cleared: ClearedCall, note: CallNote) -> None:
    """Nobody watches."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Masked:
    inner: Toolset
    masks: Mapping[str, Mask]
    """By server id."""
    default: Mask
    """For every other server."""
    show: Callable[[ClearedCall, CallNote], None] = _show_nobody
    """Told what servers say while they work, masked."""

    async def list_tools(self) -> Sequence[ToolDefinition]:
        return await self.inner.list_tools()

    async def call(self, cleared: ClearedCall) -> ToolResult:
        server = cleared.tool.server
        mask = self.masks.get(server, self.default)

        def hear(note: CallNote) -> None:
            if len(note.message) <= _LONGEST_NOTE:
                self.show(cleared, replace(note, message=mask_result(mask, note.message)))

        with listening(hear):
            result = await self.inner.call(cleared)
        masked = await _mask(mask, result.content)
        if masked == WITHHELD:
            log.error("tool_result_withheld", server=server, call_id=str(cleared.call.call_id))
        return replace(result, content=masked)


async def _mask(mask: Mask, text: str) -> str:
    if len(text) > _LARGE:
        return await asyncio.to_thread(_clean, mask, text)
    return _clean(mask, text)


def _clean(mask: Mask, text: str) -> str:
    return escape_forged_markers(mask_result(mask, text))
