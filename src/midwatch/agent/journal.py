"""What the loop needs of a journal. The recorder of `timeline` keeps these promises; the agent knows no database."""

from dataclasses import dataclass
from typing import Protocol

from midwatch.domain.messages import Usage
from midwatch.domain.timeline import InteractionType, Phase
from midwatch.domain.tools import ToolCall


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What one model call brought, whole or as far as it came."""

    text: str
    thinking: str
    calls: tuple[ToolCall, ...]
    usage: Usage
    provider_state: bytes | None
    duration_ms: int
    interaction_type: InteractionType
    iteration: int
    messages_count: int


class TurnJournal(Protocol):
    def show_phase(self, phase: Phase, message: str) -> None:
        """What the agent is busy with, for whoever watches; it is journalled nowhere."""
        ...

    def stream_text(self, delta: str) -> None:
        """Shows text as it comes; nothing is journalled yet."""
        ...

    def stream_thinking(self, delta: str) -> None: ...

    async def commit_reply(self, reply: Reply) -> None:
        """The model's reply, before any of its calls run. Raises LeaseLost."""
        ...

    async def commit_failure(self, reply: Reply, *, error: str, code: str, will_retry: bool) -> None:
        """A model call that failed, with what had come of it."""
        ...

    async def commit_prompt(self, text: str) -> None:
        """A user message of ours in the middle of the conversation."""
        ...
