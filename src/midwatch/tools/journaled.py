"""Commits around each call: *started* before a change leaves, *finished* with the masked result before anyone reads it.

A cancelled call stays as it was journalled; whoever resumes the session decides what that means.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from midwatch.domain.tools import Clearance, ClearedCall, ToolDefinition, ToolKind, ToolResult
from midwatch.tools.dispatch import guarded
from midwatch.tools.journal import CallJournal
from midwatch.tools.toolset import Toolset


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Journaled:
    inner: Toolset
    journal: CallJournal

    async def list_tools(self) -> Sequence[ToolDefinition]:
        return await self.inner.list_tools()

    async def call(self, cleared: ClearedCall) -> ToolResult:
        if not _may_run_again(cleared.clearance):
            refusal = await self.journal.start(cleared)
            if refusal is not None:
                return await self.journal.refuse(cleared.call, refusal)
        with guarded(lambda: self.journal.check_dispatch(cleared)):
            result = await self.inner.call(cleared)
        await self.journal.finish(cleared, result)
        return result


def _may_run_again(clearance: Clearance) -> bool:
    """An interrupted read runs again on resume, but not on a server's mere word that it is one."""
    return clearance.proven and clearance.kind in (ToolKind.READ, ToolKind.RESOLVE)
