"""A reply in the making: chunks gathered, shown as they come, and watched for a model that got stuck."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from midwatch.agent.journal import Aside, Reply, TurnJournal
from midwatch.agent.repetition import RepetitionWatch
from midwatch.domain.errors import ModelUnavailable
from midwatch.domain.messages import Message, Usage
from midwatch.domain.timeline import InteractionType, Phase
from midwatch.domain.tools import ToolCall, ToolDefinition
from midwatch.kit.clock import boottime
from midwatch.kit.ids import new_id
from midwatch.llm.ladder import Ladder
from midwatch.llm.model import (
    CallChunk,
    Chunk,
    CodeChunk,
    GroundingChunk,
    NoticeChunk,
    StateChunk,
    TextChunk,
    ThinkingChunk,
    UsageChunk,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    messages: Sequence[Message]
    """The conversation itself, which may grow or shrink before the question is asked again."""
    tools: Sequence[ToolDefinition]
    agent: str
    iteration: int
    interaction_type: InteractionType
    is_last: bool = False
    """Nothing is done with the calls of a model that was told to conclude: nobody would answer them."""
    occasion: int = 0
    """How often the agent has been at work in the session before."""


@dataclass(slots=True)
class Draft:
    started_at: float = field(default_factory=boottime)
    text: list[str] = field(default_factory=list[str])
    thinking: list[str] = field(default_factory=list[str])
    thinking_source: str = "native"
    calls: list[ToolCall] = field(default_factory=list[ToolCall])
    usage: Usage | None = None
    state: bytes | None = None
    was_left: bool = False
    """We stopped waiting: what the provider went on to do, and to bill, nobody told us."""
    asides: list[Aside] = field(default_factory=list[Aside])
    _said: RepetitionWatch = field(default_factory=RepetitionWatch)
    _thought: RepetitionWatch = field(default_factory=RepetitionWatch)

    @property
    def is_empty(self) -> bool:
        return not (self.text or self.thinking or self.calls)

    def take(self, chunk: Chunk, journal: TurnJournal) -> None:
        """Raises ModelUnavailable when the model says the same thing over and over."""
        match chunk:
            case TextChunk(text=text):
                self.text.append(text)
                journal.stream_text(text)
                _check(self._said, text)
            case ThinkingChunk(text=text, source=source):
                self.thinking.append(text)
                self.thinking_source = source
                journal.stream_thinking(text)
                _check(self._thought, text)
            case CallChunk():
                self.calls.append(_number(chunk))
            case UsageChunk(usage=usage):
                self.usage = usage
            case StateChunk(state=state):
                self.state = state
            case NoticeChunk(message=message):
                self.asides.append(chunk)
                journal.show_phase(Phase.INVESTIGATING, message)
            case CodeChunk() | GroundingChunk():
                self.asides.append(chunk)

    def reply(self, question: Question, ladder: Ladder) -> Reply:
        return Reply(
            text="".join(self.text),
            thinking="".join(self.thinking),
            thinking_source=self.thinking_source,
            calls=() if question.is_last else tuple(self.calls),
            usage=self.usage or Usage(),
            cost_usd=self._price(ladder),
            provider_state=self.state,
            asides=tuple(self.asides),
            provider=ladder.current.provider,
            model=ladder.current.name,
            duration_ms=int((boottime() - self.started_at) * 1000),
            interaction_type=question.interaction_type,
            iteration=question.iteration,
            messages_count=len(question.messages),
        )

    def _price(self, ladder: Ladder) -> float | None:
        """Unknown when something came, or may have come, and nobody counted it; nothing when it was refused."""
        if self.usage is None:
            return 0.0 if self.is_empty and not self.was_left else None
        return ladder.price(self.usage)


def _number(chunk: CallChunk) -> ToolCall:
    return ToolCall(call_id=new_id(), provider_id=chunk.provider_id, name=chunk.name, arguments=chunk.arguments)


def _check(watch: RepetitionWatch, text: str) -> None:
    if watch.feed(text):
        message = "the model said the same thing over and over"
        raise ModelUnavailable(message, code="repetition", retryable=True)
