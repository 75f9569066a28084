"""The tools one alert asks for, instead of those its chain would use. Kept with the session as JSON."""

from pydantic import Field

from midwatch.config.agents import NativeTools
from midwatch.config.strict import DistinctNames, Name, Strict


class SelectedServer(Strict):
    name: Name = Field(description="A name from `mcp_servers`")
    tools: DistinctNames | None = Field(default=None, description="Only these tools; unset or []: all of them")


class McpSelection(Strict):
    servers: tuple[SelectedServer, ...] | None = Field(
        default=None, description="Instead of all configured servers; unset leaves them, [] means none"
    )
    native_tools: NativeTools = Field(default=NativeTools(), description="Over what provider and agent say")
