"""What this replica last saw of each tool server: its investigations, and its monitor between them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from midwatch.domain.tools import ToolDefinition
from midwatch.timeline.warnings import Warnings
from midwatch.tools.schemas import explain_unusable

UNAVAILABLE = "mcp_server_unavailable"
UNCHECKED = "mcp_schema_unusable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    healthy: bool
    last_check: datetime
    tools: Sequence[ToolDefinition] = ()
    """As they were when the server last answered."""
    error: str | None = None
    """Why it is not healthy; of a healthy one, what the operator should know all the same."""


@dataclass(frozen=True, slots=True)
class Sightings:
    warnings: Warnings = field(default_factory=Warnings)
    seen: dict[str, Sighting] = field(default_factory=dict[str, Sighting])

    def note_opened(
        self,
        servers: Collection[str],
        tools: Sequence[ToolDefinition],
        *,
        all_tools: bool = True,
        remark: str | None = None,
    ) -> None:
        """`all_tools` is false when an alert chose among them: what is known of the others stays."""
        for name in servers:
            known = self.seen.get(name)
            shown = tuple(tool for tool in tools if tool.server == name)
            self.seen[name] = Sighting(
                healthy=True,
                last_check=datetime.now(UTC),
                tools=shown if all_tools or known is None else known.tools,
                error=remark,
            )
            self.warnings.take_down(UNAVAILABLE, server_id=name)
            if all_tools:
                self._note_schemas(name, shown)

    def note_unavailable(self, reasons: Mapping[str, str]) -> None:
        for name, reason in reasons.items():
            known = self.seen.get(name) or Sighting(healthy=False, last_check=datetime.now(UTC))
            self.seen[name] = replace(known, healthy=False, last_check=datetime.now(UTC), error=reason)
            self.warnings.put_up(
                UNAVAILABLE,
                f"tool server {name} could not be opened; investigations go on without it",
                details=reason,
                server_id=name,
            )

    def _note_schemas(self, name: str, tools: Sequence[ToolDefinition]) -> None:
        reasons = {tool.name: reason for tool in tools if (reason := explain_unusable(tool.schema)) is not None}
        if not reasons:
            self.warnings.take_down(UNCHECKED, server_id=name)
            return
        self.warnings.put_up(
            UNCHECKED,
            f"arguments of {len(reasons)} tools of {name} are sent unchecked, because their schemas cannot be used",
            details="\n".join(f"{tool}: {reason}" for tool, reason in reasons.items()),
            server_id=name,
        )
