"""The `mcp_servers` block: how each tool server is started, and what its tools may be taken for."""

from typing import Literal

from pydantic import Field

from midwatch.config.strict import Strict
from midwatch.domain.safety import ControlLevel
from midwatch.domain.tools import ToolKind


class StdioTransport(Strict):
    type: Literal["stdio"]
    command: str = Field(min_length=1, description="Program to start; nothing is downloaded")
    args: tuple[str, ...] = ()
    env: dict[str, str] = Field(
        default_factory=dict, repr=False, description="Variables added to the child's allow-listed ones"
    )


class Kinds(Strict):
    """What the operator has proven about a server's tools. Globs over tool names."""

    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    resolve: tuple[str, ...] = ()
    default: ToolKind | None = None


class CustomPattern(Strict):
    pattern: str = Field(min_length=1)
    replacement: str = Field(min_length=1)
    description: str = ""


class DataMasking(Strict):
    enabled: bool = True
    pattern_groups: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    custom_patterns: tuple[CustomPattern, ...] = ()


class McpServer(Strict):
    transport: StdioTransport
    instructions: str = Field(default="", description="Told to every agent that may use the server")
    kinds: Kinds | None = Field(default=None, description="Kinds proven by the operator; an unknown tool is a write")
    trust_annotations: bool = Field(default=False, description="Take the server's readOnlyHint as proof")
    inherit_env: tuple[str, ...] = Field(default=(), description="Further variables the child inherits")
    control_level: ControlLevel | None = None
    data_masking: DataMasking = DataMasking()
