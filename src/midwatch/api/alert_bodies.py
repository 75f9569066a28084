"""What an alert brings over the wire, and what its sender is told."""

from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, StrictBool

from midwatch.api.selected_resources import SelectedResources
from midwatch.domain.errors import Invalid
from midwatch.domain.runbook import LONGEST_URL
from midwatch.domain.selection import McpSelection, NativeTools, SelectedServer
from midwatch.intake.submit_alert import ALERT_LIMIT

_LONGEST_FINGERPRINT = 512
_CLOSED = ConfigDict(extra="forbid", hide_input_in_errors=True)

Name = Annotated[str, Field(min_length=1, max_length=200)]


class SelectedServerIn(BaseModel):
    model_config = _CLOSED

    name: Name = Field(description="An MCP server of the configuration, each at most once")
    tools: list[Name] | None = Field(
        default=None, max_length=1000, description="Only these of its tools; all when missing or empty"
    )


class NativeToolsIn(BaseModel):
    model_config = _CLOSED

    google_search: StrictBool | None = None
    code_execution: StrictBool | None = None
    url_context: StrictBool | None = None


class SelectionIn(BaseModel):
    model_config = _CLOSED

    servers: list[SelectedServerIn] = Field(default=[], max_length=1000, description="Instead of the configured ones")
    native_tools: NativeToolsIn | None = Field(default=None, description="Tools that the model's provider runs")

    def as_selection(self) -> McpSelection:
        native = {} if self.native_tools is None else self.native_tools.model_dump()
        return McpSelection(
            servers=tuple(
                SelectedServer(name=server.name, tools=tuple(server.tools) if server.tools else None)
                for server in self.servers
            ),
            native_tools=NativeTools(**native),
        )


class AlertIn(BaseModel):
    model_config = _CLOSED

    data: str = Field(
        description=f"The alert, as free text: not blank, and at most {ALERT_LIMIT} bytes",
        json_schema_extra={"pattern": r"\S"},
    )
    alert_type: str | None = Field(
        default=None, description="One that `/api/v1/alert-types` lists; the configured default when missing or empty"
    )
    runbook: str | None = Field(
        default=None,
        description="Where its runbook is: http or https, on an allowed domain",
        json_schema_extra={"maxLength": LONGEST_URL, "pattern": r"^(https://[!-\[\]-~]+)?$"},
    )
    mcp: SelectionIn | None = Field(
        default=None, description="The tools to use instead of the configured ones: at least one server or native tool"
    )
    mcp_selection: SelectionIn | None = Field(default=None, description="Another name of `mcp`; send one of them")
    slack_message_fingerprint: str | None = Field(
        default=None, max_length=_LONGEST_FINGERPRINT, description="Text by which the alert's Slack message is found"
    )
    selected_resources: SelectedResources = None

    @property
    def selection_field(self) -> str:
        return "mcp" if self.mcp_selection is None else "mcp_selection"

    def read_selection(self) -> McpSelection | None:
        if self.mcp is not None and self.mcp_selection is not None:
            raise Invalid("mcp and mcp_selection are two names of one thing: send one of them", field="mcp_selection")
        given = self.mcp or self.mcp_selection
        return None if given is None else given.as_selection()


class AlertAccepted(BaseModel):
    session_id: UUID
    status: Literal["queued"] = "queued"
    message: str = "Alert accepted"
    queue_position: int | None = Field(
        default=None,
        description="Counted from one; null when so many wait that they were not counted, or it was accepted before",
    )
    warning: str | None = Field(default=None, description="Too many sessions wait: hold back what can wait")
