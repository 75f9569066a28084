"""Tool definitions, calls, clearances and results, and why a call may be refused."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any
from uuid import UUID


class ToolKind(StrEnum):
    RESOLVE = "resolve"
    READ = "read"
    WRITE = "write"
    ASK = "ask"


class CallState(StrEnum):
    REQUESTED = "requested"
    WAITING_APPROVAL = "waiting_approval"
    STARTED = "started"
    FINISHED = "finished"
    REFUSED = "refused"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolDefinition:
    server: str
    name: str
    description: str
    schema: Mapping[str, Any]
    read_only_hint: bool | None = None
    """What the server says of itself. Proof only when the operator trusts it."""
    annotations: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """All that the server says of itself, as it said it."""

    @property
    def full_name(self) -> str:
        return f"{self.server}.{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A call the model asked for. `arguments` is the JSON text as the model wrote it."""

    call_id: UUID
    provider_id: str
    """The provider's own id of the call; not unique across turns with every provider."""
    name: str
    """`server.tool`, or whatever the model wrote when it made a name up."""
    arguments: str
    is_own: bool = False
    """Code asks for it, and no model reads the result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket:
    """A call under way. `began` grows from call to call of a session, whoever runs it."""

    number: int
    kind: ToolKind
    targets: tuple[str, ...]
    began: int
    owner: UUID | None = None
    """The execution that makes the call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clearance:
    """The gate's permission for one call."""

    kind: ToolKind
    proven: bool
    """The kind comes from our code or the operator, not from the server's own word."""
    rule: str
    """What decided, for the audit."""
    targets: tuple[str, ...]
    timeout: float
    """Seconds the call may take, counted from the moment it is journalled as started."""
    observed: str | None = None
    """The code of the refusal that observe mode let pass."""
    read_as: str | None = None
    """How the arguments were read, when the model had not written the JSON that was sent."""
    is_pinned: bool = False
    """Given for this very definition of the tool: to another one the call is not sent."""
    parent: str | None = None
    """What the first target is a part of."""
    policy_rule: str | None = None
    """What allowed a call of this kind."""
    risk: str | None = None
    """Of a change; None when nobody has judged it."""
    ticket: Ticket | None = None
    """Under which the session's safety has entered the call."""
    approval_id: UUID | None = None
    """Of a person's yes, which is used up when the call starts."""
    approval_digest: bytes | None = None
    """Of what the yes was given to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClearedCall:
    call: ToolCall
    """Its arguments are those that are sent."""
    tool: ToolDefinition
    arguments: Mapping[str, Any]
    clearance: Clearance


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What came back. A failure is a result with an error code, never an exception."""

    content: str
    """What is read of it."""
    error: str | None = None
    whole: str | None = field(default=None, repr=False)
    """All of it, when `content` is only a part."""
    awaits_summary: bool = False
    """A model is going to read a summary instead."""

    @property
    def is_error(self) -> bool:
        return self.error is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """Instead of a result: a person has to decide first, and nobody stands by until then."""

    call_id: UUID
    approval_id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class CallNote:
    """What a server says of a call while it works on it."""

    message: str = ""
    progress: float | None = None
    total: float | None = None
    level: str | None = None
    """Of a line of its log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why code said no. The code is stable; the hint tells the model what it can do instead."""

    code: str
    reason: str
    hint: str
    details: Mapping[str, Any] = field(default_factory=dict[str, Any])
