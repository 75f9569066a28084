"""What a session learns from the results of its looks: things that exist, by the paths the operator has given.

Outside the journal, so that only what is stored is learnt, and inside of summaries, so that all of it is.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import final

import structlog

from midwatch.domain.tools import ClearedCall, ToolDefinition, ToolKind, ToolResult
from midwatch.safety.context import SERVER_PREFIX
from midwatch.safety.discoveries import Findings, find_resources
from midwatch.safety.resources import Origin, Resource, first_match
from midwatch.safety.session import SessionSafety
from midwatch.safety.targets import Target, read_target
from midwatch.tools.appraisal import LOOKS
from midwatch.tools.toolset import Toolset

log = structlog.get_logger()

_LARGE = 64 * 1024
"""Characters from which on looking through a result would hold up the event loop."""
_NO_PATHS: Mapping[str, str] = {}


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Learning:
    inner: Toolset
    safety: SessionSafety
    paths: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])
    """By server id, by globs over its tools: where results hold what they found."""

    async def list_tools(self) -> Sequence[ToolDefinition]:
        return await self.inner.list_tools()

    async def call(self, cleared: ClearedCall) -> ToolResult:
        result = await self.inner.call(cleared)
        if cleared.clearance.kind in LOOKS and not result.is_error:
            await self._learn(cleared, result.content if result.whole is None else result.whole)
        return result

    async def _learn(self, cleared: ClearedCall, content: str) -> None:
        tool, paths = cleared.tool, self.paths.get(cleared.tool.server, _NO_PATHS)
        origin = Origin(tool=tool.full_name, arguments=cleared.call.arguments)
        if first_match(tool.name, paths) is None:
            if (got := _read_own(cleared, origin)) is not None:
                self.safety.learn((), got=got)
            return
        found = await _look_through(tool.name, content, paths, origin=origin)
        if found.left_out:
            log.debug("discoveries_left_out", server=tool.server, tool=tool.name, count=found.left_out)
        is_one = len(found.resources) == 1 and _gets_one(cleared)
        self.safety.learn(found.resources, got=found.resources[0] if is_one else None)


async def _look_through(tool: str, content: str, paths: Mapping[str, str], *, origin: Origin) -> Findings:
    if len(content) > _LARGE:
        return await asyncio.to_thread(find_resources, tool, content, paths, origin=origin)
    return find_resources(tool, content, paths, origin=origin)


def _gets_one(cleared: ClearedCall) -> bool:
    """Whether the call was about one thing: a tool that resolves, given what it was to resolve."""
    clearance = cleared.clearance
    is_named = bool(clearance.targets) and not clearance.targets[0].startswith(SERVER_PREFIX)
    return clearance.kind is ToolKind.RESOLVE and is_named


def _read_own(cleared: ClearedCall, origin: Origin) -> Resource | None:
    if not _gets_one(cleared):
        return None
    clearance = cleared.clearance
    return read_target(Target(id=clearance.targets[0], parent=clearance.parent), origin=origin)
