"""The conversation in our own words, the same for every provider."""

from dataclasses import dataclass
from enum import StrEnum

from midwatch.domain.tools import ToolCall


class Role(StrEnum):
    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemMessage:
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UserMessage:
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantMessage:
    text: str
    thinking: str = ""
    calls: tuple[ToolCall, ...] = ()
    provider_state: bytes | None = None
    """What only the provider understands and wants to see again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolMessage:
    provider_id: str
    name: str
    content: str
    is_error: bool = False


Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    input_tokens: int = 0
    output_tokens: int = 0
    thinking_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0

    @property
    def total_tokens(self) -> int:
        return self.input_tokens + self.output_tokens
