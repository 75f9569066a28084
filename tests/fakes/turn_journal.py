"""A turn journal in memory: one ordered log of what was committed, with the messages a resumed run would read."""

from dataclasses import dataclass, field

from midwatch.agent.journal import Fallback, Reply, Withdrawal
from midwatch.domain.errors import MidwatchError
from midwatch.domain.messages import AssistantMessage, Message, UserMessage
from midwatch.domain.timeline import Phase
from midwatch.llm.model import Sent


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedCall:
    reply: Reply
    error: str
    code: str
    will_retry: bool


@dataclass(slots=True)
class FakeTurnJournal:
    messages: list[Message] = field(default_factory=list[Message])
    replies: list[Reply] = field(default_factory=list[Reply])
    failures: list[FailedCall] = field(default_factory=list[FailedCall])
    fallbacks: list[Fallback] = field(default_factory=list[Fallback])
    notices: list[str] = field(default_factory=list[str])
    warnings: list[str] = field(default_factory=list[str])
    streamed: list[str] = field(default_factory=list[str])
    thought: list[str] = field(default_factory=list[str])
    phases: list[Phase] = field(default_factory=list[Phase])
    withdrawn: list[str] = field(default_factory=list[str])
    """Why each reply was no conclusion."""
    sent: list[Sent] = field(default_factory=list[Sent])
    failure: MidwatchError | None = None
    """Raised instead of the next commit."""

    def show_phase(self, phase: Phase, message: str) -> None:
        assert message
        self.phases.append(phase)

    def stream_text(self, delta: str) -> None:
        self.streamed.append(delta)

    def stream_thinking(self, delta: str) -> None:
        self.thought.append(delta)

    def note_sent(self, sent: Sent) -> None:
        self.sent.append(sent)

    async def commit_reply(self, reply: Reply) -> None:
        self._check()
        self.replies.append(reply)
        self.messages.append(AssistantMessage(text=reply.text, calls=reply.calls, provider_state=reply.provider_state))

    async def commit_failure(self, reply: Reply, *, error: str, code: str, will_retry: bool) -> None:
        self._check()
        self.failures.append(FailedCall(reply=reply, error=error, code=code, will_retry=will_retry))

    async def commit_fallback(self, fallback: Fallback) -> None:
        self._check()
        self.fallbacks.append(fallback)

    async def commit_notice(self, text: str, *, code: str) -> None:
        self._check()
        assert text
        self.notices.append(code)

    async def commit_warning(self, text: str) -> None:
        self._check()
        self.warnings.append(text)

    async def commit_prompt(self, text: str) -> None:
        self._check()
        self.messages.append(UserMessage(text=text))

    async def commit_withdrawal(self, prompt: str, why: Withdrawal) -> None:
        self._check()
        assert why
        self.withdrawn.append(prompt)
        self.messages.append(UserMessage(text=prompt))

    def _check(self) -> None:
        if self.failure is not None:
            raise self.failure
