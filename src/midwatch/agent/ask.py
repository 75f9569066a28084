"""One question to a model: chunks gathered into a reply under the budget's clocks, tried again where that may help."""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

from midwatch.agent.budget import Budget
from midwatch.agent.journal import Reply, TurnJournal
from midwatch.agent.outcome import Failed, TimedOut
from midwatch.domain.errors import ModelUnavailable
from midwatch.domain.messages import Message, Usage
from midwatch.domain.timeline import InteractionType
from midwatch.domain.tools import ToolCall, ToolDefinition
from midwatch.kit.clock import boottime
from midwatch.kit.ids import new_id
from midwatch.llm.model import (
    CallChunk,
    Chunk,
    CodeChunk,
    GroundingChunk,
    Model,
    ModelRequest,
    NoticeChunk,
    StateChunk,
    TextChunk,
    ThinkingChunk,
    UsageChunk,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    messages: Sequence[Message]
    tools: Sequence[ToolDefinition]
    agent: str
    iteration: int
    interaction_type: InteractionType

    @property
    def is_last(self) -> bool:
        """Nothing is done with the calls of a model that was told to conclude: nobody would answer them."""
        return self.interaction_type is InteractionType.FORCED_CONCLUSION


@dataclass(frozen=True, slots=True, kw_only=True)
class _Failure:
    message: str
    code: str
    retryable: bool
    timeout: bool


@dataclass(slots=True)
class _Draft:
    """A reply in the making."""

    started_at: float = field(default_factory=boottime)
    text: list[str] = field(default_factory=list[str])
    thinking: list[str] = field(default_factory=list[str])
    calls: list[ToolCall] = field(default_factory=list[ToolCall])
    usage: Usage = field(default_factory=Usage)
    state: bytes | None = None
    asides: list[CodeChunk | GroundingChunk | NoticeChunk] = field(
        default_factory=list[CodeChunk | GroundingChunk | NoticeChunk]
    )

    @property
    def is_empty(self) -> bool:
        return not (self.text or self.thinking or self.calls)

    def take(self, chunk: Chunk, journal: TurnJournal) -> None:
        match chunk:
            case TextChunk(text=text):
                self.text.append(text)
                journal.stream_text(text)
            case ThinkingChunk(text=text):
                self.thinking.append(text)
                journal.stream_thinking(text)
            case CallChunk():
                self.calls.append(
                    ToolCall(
                        call_id=new_id(),
                        provider_id=chunk.provider_id,
                        name=chunk.name,
                        arguments=chunk.arguments,
                    )
                )
            case UsageChunk(usage=usage):
                self.usage = usage
            case StateChunk(state=state):
                self.state = state
            case CodeChunk() | GroundingChunk() | NoticeChunk():
                self.asides.append(chunk)

    def reply(self, question: Question) -> Reply:
        return Reply(
            text="".join(self.text),
            thinking="".join(self.thinking),
            calls=() if question.is_last else tuple(self.calls),
            usage=self.usage,
            provider_state=self.state,
            duration_ms=int((boottime() - self.started_at) * 1000),
            interaction_type=question.interaction_type,
            iteration=question.iteration,
            messages_count=len(question.messages),
        )


async def ask(question: Question, *, model: Model, journal: TurnJournal, budget: Budget) -> Reply | Failed | TimedOut:
    """The reply, committed; or why there is none. Every failed call is recorded too."""
    deadline = boottime() + budget.iteration
    failures = 0
    while True:
        draft = _Draft()
        failure = await _gather(draft, question, model=model, journal=journal, budget=budget, deadline=deadline)
        if failure is None:
            reply = draft.reply(question)
            await journal.commit_reply(reply)
            return reply
        failures += 1
        will_retry = failure.retryable and failures < budget.failures_in_a_row and boottime() < deadline
        await journal.commit_failure(
            draft.reply(question), error=failure.message, code=failure.code, will_retry=will_retry
        )
        if not will_retry:
            return TimedOut(error=failure.message) if failure.timeout else Failed(error=failure.message)


async def _gather(
    draft: _Draft, question: Question, *, model: Model, journal: TurnJournal, budget: Budget, deadline: float
) -> _Failure | None:
    request = ModelRequest(messages=question.messages, tools=question.tools, agent=question.agent)
    loop = asyncio.get_running_loop()
    whole = asyncio.timeout(max(min(budget.call, deadline - boottime()), 0.0))
    pace = asyncio.timeout(budget.first_chunk)
    try:
        async with whole, pace, aclosing(model.stream(request)) as chunks:
            async for chunk in chunks:
                draft.take(chunk, journal)
                # One timer, moved on as chunks come: a timer each would cost more than the chunk.
                pace.reschedule(loop.time() + budget.gap)
    except ModelUnavailable as error:
        return _Failure(message=str(error), code=error.code, retryable=error.retryable, timeout=False)
    except TimeoutError:
        if not (whole.expired() or pace.expired()):
            raise
        return _too_slow(draft, budget, fell_silent=pace.expired())
    return None


def _too_slow(draft: _Draft, budget: Budget, *, fell_silent: bool) -> _Failure:
    if not fell_silent:
        message, code = f"the model did not finish within {budget.call:g} s", "call_timeout"
    elif draft.is_empty:
        message, code = f"the model said nothing for {budget.first_chunk:g} s", "initial_response_timeout"
    else:
        message, code = f"the model fell silent for {budget.gap:g} s", "stall_timeout"
    return _Failure(message=message, code=code, retryable=True, timeout=True)
