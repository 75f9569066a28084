"""The one way to ask a model, whoever serves it."""

from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from midwatch.domain.messages import Message, Usage
from midwatch.domain.tools import ToolDefinition
from midwatch.kit.clock import boottime


@dataclass(frozen=True, slots=True, kw_only=True)
class TextChunk:
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingChunk:
    text: str
    source: str = "native"
    """Or `react`: read out of what the model wrote."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallChunk:
    """A whole tool call, never a part of one. `name` is `server.tool`; `arguments` is JSON text."""

    provider_id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageChunk:
    usage: Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class StateChunk:
    """Opaque bytes the provider wants back with this message."""

    state: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeChunk:
    """Code that the provider ran on its own side, with what came out of it."""

    code: str
    output: str
    language: str = "python"
    is_error: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    uri: str
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Support:
    """A piece of the answer and the sources it rests on, by their place among the sources."""

    text: str
    sources: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroundingChunk:
    """What the provider looked up on its own side: searched for when there are queries, else pages that it read."""

    queries: tuple[str, ...] = ()
    sources: tuple[Source, ...] = ()
    supports: tuple[Support, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeChunk:
    """Something the operator should know about how the question was put, such as tools that were left out."""

    code: str
    message: str


Chunk = TextChunk | ThinkingChunk | CallChunk | CodeChunk | GroundingChunk | NoticeChunk | UsageChunk | StateChunk


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """One request that left this machine for a model. Keys are headers, and no part of it."""

    provider: str
    model: str
    host: str
    """With its port, where it is not the usual one."""
    path: str
    body: bytes = field(repr=False)
    sent_at: float = field(default_factory=boottime)


NoteSent = Callable[[Sent], None]


def note_nothing(_: Sent) -> None:
    """For whoever keeps no record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    messages: Sequence[Message]
    tools: Sequence[ToolDefinition]
    """Empty means the model must answer in text."""
    agent: str
    """Name of the asking agent; scripted models are routed by it."""
    occasion: int = 0
    """How often the agent has been at work in the session before; by it, too, scripted models are routed."""
    note_sent: NoteSent = note_nothing
    """Called as often as bytes leave the machine, right before the first of them does."""


class Model(Protocol):
    """One conversation's model: built for one execution, so it may keep what it encoded before."""

    @property
    def provider(self) -> str:
        """Name of the provider entry in the configuration."""
        ...

    @property
    def name(self) -> str:
        """Name of the model at the provider."""
        ...

    def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk]:
        """Chunks as they come. Raises ModelUnavailable. Closing the generator cancels the request."""
        ...
