"""The `mcp_servers` block: how each tool server is started, and what its tools may be taken for."""

from typing import Literal

from pydantic import Field

from midwatch.config.strict import Strict
from midwatch.domain.safety import ControlLevel
from midwatch.domain.tools import ToolKind


class StdioTransport(Strict):
    type: Literal["stdio"] = Field(description="Over the pipes of a child process")
    command: str = Field(min_length=1, description="Program to start; nothing is downloaded")
    args: tuple[str, ...] = Field(default=(), description="Its arguments")
    env: dict[str, str] = Field(
        default_factory=dict, repr=False, description="Variables added to the child's allow-listed ones"
    )


class Kinds(Strict):
    """What the operator has proven about a server's tools. Globs over tool names."""

    read: tuple[str, ...] = Field(default=(), description="Tools that only look; run again if they are interrupted")
    write: tuple[str, ...] = Field(default=(), description="Tools that change something; wins over the others")
    resolve: tuple[str, ...] = Field(default=(), description="Tools that find out what a name means")
    default: ToolKind | None = Field(default=None, description="For tools that no glob matches; unset: write")


class CustomPattern(Strict):
    pattern: str = Field(min_length=1, description="RE2 syntax")
    replacement: str = Field(min_length=1, description="Stands in the match's place; `$1` is its first group")
    description: str = Field(default="", description="What it hides")


class DataMasking(Strict):
    enabled: bool = Field(default=True, description="false shows this server's results as they are")
    pattern_groups: tuple[str, ...] = Field(default=(), description="Groups to hide; none named: `security`")
    patterns: tuple[str, ...] = Field(default=(), description="Single patterns to hide as well")
    custom_patterns: tuple[CustomPattern, ...] = Field(default=(), description="Your own")


class McpServer(Strict):
    transport: StdioTransport = Field(description="How to reach the server")
    instructions: str = Field(default="", description="Told to every agent that may use the server")
    kinds: Kinds | None = Field(default=None, description="Kinds proven by the operator; an unknown tool is a write")
    trust_annotations: bool = Field(
        default=False, description="Let a tool read on the word of its server's readOnlyHint"
    )
    inherit_env: tuple[str, ...] = Field(default=(), description="Further variables the child inherits")
    control_level: ControlLevel | None = Field(default=None, description="The strictest level that is set counts")
    data_masking: DataMasking = Field(default=DataMasking(), description="What to hide in results and errors")
