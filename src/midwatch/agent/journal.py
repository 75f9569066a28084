"""What the loop needs of a journal. The recorder of `timeline` keeps these promises; the agent knows no database."""

from dataclasses import dataclass
from typing import Protocol

from midwatch.domain.messages import Usage
from midwatch.domain.timeline import InteractionType, Phase
from midwatch.domain.tools import Refusal, ToolCall
from midwatch.llm.model import CodeChunk, GroundingChunk, NoticeChunk, Sent
from midwatch.safety.claims.findings import Inspection

Aside = CodeChunk | GroundingChunk | NoticeChunk
Withdrawal = Refusal | Inspection
"""What stands against a conclusion: a change that nobody has looked at, or words that nothing bears out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fallback:
    """One provider gave way to another."""

    from_provider: str
    from_model: str
    to_provider: str
    to_model: str
    to_backend: str
    reason: str
    code: str
    attempt: int
    """How many times this execution has changed its provider, this time included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What one model call brought, whole or as far as it came."""

    text: str
    thinking: str
    thinking_source: str
    """`native`, or `react` when it was read out of the text."""
    calls: tuple[ToolCall, ...]
    usage: Usage
    cost_usd: float | None
    """Estimated; None is unknown."""
    provider_state: bytes | None
    asides: tuple[Aside, ...]
    """What the provider did or said beside the answer."""
    provider: str
    model: str
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

    def note_sent(self, sent: Sent) -> None:
        """What leaves for the model; recorded with the reply or the failure that comes of it."""
        ...

    async def commit_reply(self, reply: Reply) -> None:
        """The model's reply, before any of its calls run. Raises LeaseLost."""
        ...

    async def commit_failure(self, reply: Reply, *, error: str, code: str, will_retry: bool) -> None:
        """A model call that failed, with what had come of it."""
        ...

    async def commit_fallback(self, fallback: Fallback) -> None:
        """From now on another provider is asked; a run that resumes goes on with it."""
        ...

    async def commit_notice(self, text: str, *, code: str) -> None:
        """Something that a reader of the timeline should know about how the model is asked."""
        ...

    async def commit_warning(self, text: str) -> None:
        """Something that a reader of the session should know of it as a whole; said again, it is the same warning."""
        ...

    async def commit_prompt(self, text: str) -> None:
        """A user message of ours in the middle of the conversation."""
        ...


class ConclusionJournal(TurnJournal, Protocol):
    """Of whoever comes to a conclusion, which may be taken back."""

    async def commit_withdrawal(self, prompt: str, why: Withdrawal) -> None:
        """The last reply was no conclusion after all, and the user message that says why."""
        ...
