"""The `mcp_servers` block: how each tool server is reached, and what its tools may be taken for."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, field_validator

from midwatch.config.agents import BACKEND, LlmBackend
from midwatch.config.duration import DurationOrZero
from midwatch.config.strict import ExactUrl, Name, Strict
from midwatch.domain.safety import ControlLevel
from midwatch.domain.tools import ToolKind
from midwatch.safety.discoveries import check_path
from midwatch.safety.targets import check_template

OURSELVES = "self"
"""As `run_as`: the child keeps our own user, root included."""


class StdioTransport(Strict):
    type: Literal["stdio"] = Field(description="Over the pipes of a child process")
    command: Name = Field(description="Program to start; nothing is downloaded")
    args: tuple[str, ...] = Field(default=(), description="Its arguments")
    env: dict[str, str] = Field(
        default_factory=dict, repr=False, description="Variables added to the child's allow-listed ones"
    )


class RemoteTransport(Strict):
    type: Literal["http", "sse"] = Field(
        description="Over streamable HTTP, or over server-sent events as older servers do"
    )
    url: ExactUrl = Field(repr=False, description="Where the server is")
    bearer_token: str | None = Field(default=None, repr=False, description="Sent as authorization")
    verify_ssl: bool = Field(default=True, description="Check the server's certificate")
    timeout: DurationOrZero | None = Field(default=None, description="For one request; 0 or unset: the usual limit")
    custom_headers: dict[str, str] = Field(
        default_factory=dict,
        repr=False,
        description="Sent along; `{{.SESSION_ID}}` becomes the id of what the session serves",
    )
    session_cleanup_url: ExactUrl | None = Field(
        default=None, repr=False, description="Sent a DELETE when that is over; may hold `{{.SESSION_ID}}` as well"
    )


Transport = StdioTransport | RemoteTransport

TRANSPORT_SHAPES: Mapping[str, type[Transport]] = {
    "stdio": StdioTransport,
    "http": RemoteTransport,
    "sse": RemoteTransport,
}


class Kinds(Strict):
    """What the operator has proven about a server's tools. Globs over tool names."""

    read: tuple[str, ...] = Field(default=(), description="Tools that only look; run again if they are interrupted")
    write: tuple[str, ...] = Field(default=(), description="Tools that change something; wins over the others")
    resolve: tuple[str, ...] = Field(default=(), description="Tools that find out what a name means")
    default: ToolKind | None = Field(default=None, description="For tools that no glob matches; unset: write")


class CustomPattern(Strict):
    pattern: Name = Field(description="RE2 syntax")
    replacement: Name = Field(description="Stands in the match's place; `$1` is its first group")
    description: str = Field(default="", description="What it hides")


class DataMasking(Strict):
    enabled: bool = Field(default=True, description="false shows this server's results as they are")
    pattern_groups: tuple[str, ...] = Field(default=(), description="Groups to hide; none named: `security`")
    patterns: tuple[str, ...] = Field(default=(), description="Single patterns to hide as well")
    custom_patterns: tuple[CustomPattern, ...] = Field(default=(), description="Your own")


class Summarization(Strict):
    enabled: bool = Field(default=True, description="Shorten long results with a model")
    size_threshold_tokens: int = Field(default=5000, ge=100, description="What counts as long")
    summary_max_token_limit: int = Field(default=1000, ge=50, description="How long a summary may be")
    llm_provider: str | None = Field(default=None, description="Instead of `defaults.summarization` and the agent's")
    llm_backend: LlmBackend | None = Field(default=None, description=BACKEND)

    @field_validator("llm_provider", "llm_backend")
    @classmethod
    def _is_of_use(cls, choice: str | None, info: ValidationInfo) -> str | None:
        if choice is not None and info.data.get("enabled") is False:
            raise ValueError("has no use here, since enabled is false")
        return choice


def _check_template(template: str) -> str:
    if (flaw := check_template(template)) is not None:
        raise ValueError(flaw)
    return template


def _check_path(path: str) -> str:
    if (flaw := check_path(path)) is not None:
        raise ValueError(flaw)
    return path


Template = Annotated[Name, AfterValidator(_check_template)]


class Target(Strict):
    """What a call acts on. May be written as its template alone."""

    target: Template = Field(description="Template over the call's arguments")
    parent: Template | None = Field(default=None, description="Template of what the target is a part of")


def _from_template(value: Any) -> Any:
    return {"target": value} if isinstance(value, str) else value


class McpServer(Strict):
    transport: Transport = Field(description="How to reach the server")
    instructions: str = Field(default="", description="Told to every agent that may use the server")
    kinds: Kinds | None = Field(default=None, description="Kinds proven by the operator; an unknown tool is a write")
    trust_annotations: bool = Field(
        default=False, description="Let a tool read on the word of its server's readOnlyHint"
    )
    targets: dict[Name, Annotated[Target, BeforeValidator(_from_template)]] = Field(
        default_factory=dict, description="Tool glob to what its calls act on; unset: the server as a whole"
    )
    discovers: dict[Name, Annotated[Name, AfterValidator(_check_path)]] = Field(
        default_factory=dict, description="Tool glob to where its results hold the resources they found"
    )
    shared: bool = Field(default=False, description="One session for all investigations of a replica")
    isolation: Literal["investigation", "execution"] | None = Field(
        default=None, description="How far one session reaches; unset: investigation (in a TARSy folder: execution)"
    )
    health_check_tool: str | None = Field(default=None, min_length=1, description="Called to see whether all is well")
    inherit_env: tuple[str, ...] = Field(default=(), description="Further variables the child inherits")
    run_as: str | None = Field(
        default=None,
        min_length=1,
        description="Unix user of the child; `self`: as Midwatch itself; unset: so too, but `nobody` when that is root",
    )
    control_level: ControlLevel | None = Field(default=None, description="The strictest level that is set counts")
    data_masking: DataMasking = Field(default=DataMasking(), description="What to hide in results and errors")
    summarization: Summarization = Field(default=Summarization(), description="What to do with long results")

    @field_validator("isolation")
    @classmethod
    def _shares_or_isolates(cls, isolation: str | None, info: ValidationInfo) -> str | None:
        if isolation is not None and info.data.get("shared"):
            raise ValueError("does not go with shared: true")
        return isolation

    @field_validator("inherit_env", "run_as")
    @classmethod
    def _has_a_child(cls, setting: Any, info: ValidationInfo) -> Any:
        if setting and isinstance(info.data.get("transport"), RemoteTransport):
            raise ValueError("belongs to servers with transport stdio")
        return setting
