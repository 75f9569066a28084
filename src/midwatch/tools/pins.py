"""Pins of this replica: which tools are no longer what somebody vouched for."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import final

import structlog

from midwatch.domain.tools import ToolDefinition
from midwatch.safety.pins import describe_definition, take_fingerprint
from midwatch.store.engine import Store
from midwatch.store.pins import SeenTool, find_changed, pin_unseen, replace_pins
from midwatch.timeline.warnings import Warnings

CHANGED = "mcp_tool_changed"

log = structlog.get_logger()


@final
@dataclass(frozen=True, slots=True)
class StoredPins:
    store: Store
    warnings: Warnings = field(default_factory=Warnings)
    _matching: set[tuple[str, str, str]] = field(default_factory=set[tuple[str, str, str]])
    """Server, tool and fingerprint of what was found unchanged: asked of the database once."""
    _changed: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    """By server, what was last found to have changed."""

    async def find_changed(self, tools: Sequence[ToolDefinition]) -> frozenset[str]:
        """Full names. A tool that was never seen is pinned as it is. Raises StoreUnavailable."""
        seen = [tool for tool in map(as_seen, tools) if _key(tool) not in self._matching]
        if not seen:
            return frozenset()
        async with self.store.connect() as tx:
            await pin_unseen(tx, seen)
            changed = set(await find_changed(tx, seen))
        self._matching.update(_key(tool) for tool in seen if (tool.server, tool.tool) not in changed)
        self._note(seen, changed)
        return frozenset(f"{server}.{tool}" for server, tool in changed)

    def _note(self, seen: Sequence[SeenTool], changed: set[tuple[str, str]]) -> None:
        for tool in seen:
            known = self._changed.setdefault(tool.server, set())
            if (tool.server, tool.tool) in changed:
                known.add(tool.tool)
            else:
                known.discard(tool.tool)
        for server in {tool.server for tool in seen}:
            self._warn(server, sorted(self._changed[server]))

    def _warn(self, server: str, tools: Sequence[str]) -> None:
        if not tools:
            self.warnings.take_down(CHANGED, server_id=server)
            return
        log.warning("tool_definition_changed", server=server, tools=len(tools))
        self.warnings.put_up(
            CHANGED,
            f"tools of {server} are not what they were when they were vouched for; they count as writes",
            details=f"{', '.join(tools)}\nSee what changed, and accept it: midwatch tools accept {server}",
            server_id=server,
        )

    async def accept(self, tools: Sequence[ToolDefinition]) -> None:
        """A person vouches for these definitions."""
        async with self.store.begin() as tx:
            await replace_pins(tx, list(map(as_seen, tools)))
        for tool in tools:
            log.warning("tool_definition_accepted", server=tool.server, tool=tool.name, pin=take_fingerprint(tool))


def as_seen(tool: ToolDefinition) -> SeenTool:
    return SeenTool(
        server=tool.server,
        tool=tool.name,
        fingerprint=take_fingerprint(tool),
        definition=describe_definition(tool),
    )


def _key(tool: SeenTool) -> tuple[str, str, str]:
    return (tool.server, tool.tool, tool.fingerprint)
