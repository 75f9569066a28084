"""What the service says of itself and of its configuration, in the names of the wire."""

from collections.abc import Collection
from datetime import datetime
from typing import Any, Self
from uuid import UUID

from pydantic import BaseModel, Field

from midwatch.api.trace_bodies import ToolOut
from midwatch.timeline.warnings import SystemWarning
from midwatch.tools.sightings import Sighting


class AlertTypeOut(BaseModel):
    type: str
    chain_id: str
    description: str


class AlertTypesOut(BaseModel):
    alert_types: list[AlertTypeOut]
    default_chain_id: str | None
    default_alert_type: str | None


class WarningOut(BaseModel):
    id: UUID
    category: str
    message: str
    details: str
    server_id: str | None
    created_at: datetime

    @classmethod
    def from_warning(cls, warning: SystemWarning) -> Self:
        return cls.model_validate(warning, from_attributes=True)


class WarningsOut(BaseModel):
    warnings: list[WarningOut]


class McpServerOut(BaseModel):
    id: str
    healthy: bool | None = Field(
        description="null as long as this replica has not looked at the server, which it does when a chain uses it"
    )
    last_check: datetime | None
    tool_count: int
    tools: list[ToolOut]
    error: str | None

    @classmethod
    def from_sighting(cls, server: str, sighting: Sighting | None) -> Self:
        if sighting is None:
            return cls(id=server, healthy=None, last_check=None, tool_count=0, tools=[], error=None)
        tools = [ToolOut(name=tool.name, description=tool.description) for tool in sighting.tools]
        return cls(
            id=server,
            healthy=sighting.healthy,
            last_check=sighting.last_check,
            tool_count=len(tools),
            tools=tools,
            error=sighting.error,
        )


class McpServersOut(BaseModel):
    servers: list[McpServerOut]


class NativeToolsOut(BaseModel):
    """What a Google model may do by itself; other models have nothing of the kind."""

    google_search: bool = Field(description="Search the web")
    code_execution: bool = Field(description="Run Python in the provider's sandbox")
    url_context: bool = Field(description="Read pages by their address")

    @classmethod
    def from_names(cls, names: Collection[str]) -> Self:
        return cls.model_validate({name: name in names for name in cls.model_fields})


class DefaultToolsOut(BaseModel):
    alert_type: str | None
    mcp_servers: list[str]
    native_tools: NativeToolsOut


class ConfigOut(BaseModel):
    defaults: dict[str, Any]
    queue: dict[str, Any]
    system: dict[str, Any]
    agents: dict[str, Any]
    chains: dict[str, Any]
    mcp_servers: dict[str, Any]
    llm_providers: dict[str, Any]
    skills: dict[str, Any]
