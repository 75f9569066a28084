"""Commits around each call: *started* before a change leaves, *finished* with the masked result before anyone reads it.

A cancelled call stays as it was journalled; whoever resumes the session decides what that means.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import final

import structlog

from midwatch.domain.errors import StoreUnavailable
from midwatch.domain.tools import Clearance, ClearedCall, ToolDefinition, ToolKind, ToolResult
from midwatch.tools.dispatch import guarded
from midwatch.tools.journal import CallJournal
from midwatch.tools.toolset import Toolset

log = structlog.get_logger()

_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 1.0


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Journaled:
    inner: Toolset
    journal: CallJournal
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def list_tools(self) -> Sequence[ToolDefinition]:
        return await self.inner.list_tools()

    async def call(self, cleared: ClearedCall) -> ToolResult:
        if not _may_run_again(cleared.clearance):
            refusal = await self.journal.start(cleared)
            if refusal is not None:
                return await self.journal.refuse(cleared.call, refusal)
        with guarded(lambda: self.journal.check_dispatch(cleared)):
            result = await self.inner.call(cleared)
        await self._finish(cleared, result)
        return result

    async def _finish(self, cleared: ClearedCall, result: ToolResult) -> None:
        """Tries until the store takes it: the call has happened, and only a lost lease hands it to someone else."""
        wait = _FIRST_PAUSE
        while True:
            try:
                return await self.journal.finish(cleared, result)
            except StoreUnavailable:
                log.warning("tool_result_not_stored", call_id=str(cleared.call.call_id), retry_after=wait)
            await self.pause(wait)
            wait = min(wait * 2, _LONGEST_PAUSE)


def _may_run_again(clearance: Clearance) -> bool:
    """An interrupted read runs again on resume, but not on a server's mere word that it is one."""
    return clearance.proven and clearance.kind in (ToolKind.READ, ToolKind.RESOLVE)
