"""One question to a model, put again where that may help: to the same model, to another one, or made shorter."""

import asyncio
from collections.abc import Awaitable, Callable, MutableSequence, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from midwatch.agent.budget import Budget
from midwatch.agent.compaction import measure, shorten
from midwatch.agent.draft import Draft, Question
from midwatch.agent.journal import Fallback, Reply, TurnJournal
from midwatch.agent.outcome import Failed, TimedOut
from midwatch.agent.prompts.render import render_be_direct, render_broken_off
from midwatch.agent.purse import Purse
from midwatch.agent.recovery import Failure, Remedy, Trouble, Ways, choose_remedy
from midwatch.agent.spans import note_reply, open_model_span
from midwatch.domain.errors import ModelUnavailable
from midwatch.domain.messages import Message
from midwatch.domain.timeline import Phase
from midwatch.domain.tools import ToolDefinition
from midwatch.kit.clock import boottime
from midwatch.llm.failures import ProviderFailure
from midwatch.llm.ladder import Ladder
from midwatch.llm.model import ModelRequest, NoticeChunk

_PARTIAL_LIMIT = 2_000
_FULL = 0.8
"""Share of a model's window above which a conversation is shortened before it is sent: the answer needs room too."""

Say = Callable[[str], Awaitable[None]]
Sleep = Callable[[float], Awaitable[None]]
ListTools = Callable[[], Awaitable[Sequence[ToolDefinition]]]


async def _list_nothing() -> Sequence[ToolDefinition]:
    return ()


@dataclass(slots=True, kw_only=True)
class Asker:
    ladder: Ladder
    journal: TurnJournal
    budget: Budget
    purse: Purse
    messages: MutableSequence[Message]
    say: Say
    """Adds words of ours to the conversation and the journal."""
    switches: int = 0
    """How often the provider has changed."""
    sleep: Sleep = asyncio.sleep
    relist: ListTools = _list_nothing
    """The tools once results were cut: from then on there are some that open them."""
    _unmeasured: int = 0
    """Tokens of the last question that our own estimate had missed, tools among them."""
    _trouble: Trouble = field(default_factory=Trouble)
    _warned: set[str] = field(default_factory=set[str])

    async def ask(self, question: Question) -> Reply | Failed | TimedOut:
        """The reply, committed; or why there is none. Every failed call is recorded too."""
        self._trouble = Trouble()
        deadline = boottime() + self.budget.iteration
        question = await self._make_room(question)
        while True:
            if self.ladder.unpriced is not None:
                await self._warn(self.purse.warn_of_unpriced(self.ladder.unpriced))
            draft = Draft()
            with open_model_span(self.ladder, question) as span:
                failure = await self._gather(draft, question, deadline=deadline)
                draft.was_left = failure is not None and failure.is_timeout
                reply = draft.reply(question, self.ladder)
                note_reply(span, question, reply, failure=failure)
            self.purse.spend(reply.usage, usd=reply.cost_usd)
            if failure is None:
                self._compare(reply)
                await self.journal.commit_reply(reply)
                if draft.usage is None:
                    await self._warn(self.purse.warn_of_uncounted(reply.provider))
                return reply
            match await self._recover(failure, reply, deadline=deadline):
                case Remedy.GIVE_UP:
                    return TimedOut(error=failure.message) if failure.is_timeout else Failed(error=failure.message)
                case Remedy.SWITCH:
                    deadline = boottime() + self.budget.iteration
                case Remedy.SHORTEN:
                    question = await self._renew(question)
                case Remedy.ASK_AGAIN:
                    pass

    async def _recover(self, failure: Failure, reply: Reply, *, deadline: float) -> Remedy:
        """Does what the failure asks for and records it. What cannot be done is given up."""
        self._trouble.count(failure)
        ways = Ways(
            can_switch=bool(self.ladder.standbys),
            can_shorten=True,
            seconds_left=deadline - boottime(),
            patience=self.budget.failures_in_a_row,
        )
        remedy = choose_remedy(failure, self._trouble, ways)
        before = self.ladder.current
        cut = shorten(self.messages) if remedy is Remedy.SHORTEN else 0
        if remedy is Remedy.SHORTEN and not cut:
            remedy = Remedy.SWITCH
        if remedy is Remedy.SWITCH and self.ladder.step() is None:
            remedy = choose_remedy(failure, self._trouble, replace(ways, can_switch=False, can_shorten=False))
        will_retry = remedy is not Remedy.GIVE_UP
        await self.journal.commit_failure(reply, error=failure.message, code=failure.code, will_retry=will_retry)
        match remedy:
            case Remedy.SWITCH:
                await self._tell_switch(failure, provider=before.provider, model=before.name)
            case Remedy.SHORTEN:
                await self._tell_cut(cut)
            case Remedy.ASK_AGAIN:
                await self._explain(failure)
                await self._pause(failure)
            case Remedy.GIVE_UP:
                pass
        return remedy

    async def _tell_switch(self, failure: Failure, *, provider: str, model: str) -> None:
        self._trouble = Trouble()
        self.switches += 1
        await self.journal.commit_fallback(
            Fallback(
                from_provider=provider,
                from_model=model,
                to_provider=self.ladder.current.provider,
                to_model=self.ladder.current.name,
                to_backend=self.ladder.backend,
                reason=failure.message,
                code=failure.code,
                attempt=self.switches,
            )
        )

    async def _tell_cut(self, cut: int) -> None:
        results = "result was" if cut == 1 else "results were"
        told = (
            f"the conversation had become too long for the model: {cut} of the oldest tool {results} replaced by a line"
        )
        await self.journal.commit_notice(told, code="context_shortened")

    async def _warn(self, text: str | None) -> None:
        if text is not None and text not in self._warned:
            self._warned.add(text)
            await self.journal.commit_warning(text)

    async def _make_room(self, question: Question) -> Question:
        window = self.ladder.window
        if window is None or measure(self.messages) + self._unmeasured <= window * _FULL:
            return question
        cut = shorten(self.messages)
        if not cut:
            return question
        await self._tell_cut(cut)
        return await self._renew(question)

    async def _renew(self, question: Question) -> Question:
        return question if question.is_last else replace(question, tools=await self.relist())

    def _compare(self, reply: Reply) -> None:
        """How far our estimate was from the provider's own count, for the next one."""
        if self.ladder.window is not None:
            self._unmeasured = max(reply.usage.input_tokens - measure(self.messages), 0)

    async def _explain(self, failure: Failure) -> None:
        if failure.code == "repetition":
            await self.say(render_be_direct())
        elif failure.feedback is not None:
            await self.say(failure.feedback)
        elif failure.code in {"partial_stream_error", "stall_timeout", "call_timeout"} and failure.partial.strip():
            await self.say(render_broken_off(failure.partial[-_PARTIAL_LIMIT:]))

    async def _pause(self, failure: Failure) -> None:
        """Nobody else is there to be asked in the meantime."""
        if failure.retry_after <= 0:
            return
        provider = self.ladder.current.provider
        self.journal.show_phase(Phase.INVESTIGATING, f"Waiting {failure.retry_after:.0f} s for {provider}")
        await self.sleep(failure.retry_after)

    async def _gather(self, draft: Draft, question: Question, *, deadline: float) -> Failure | None:
        budget = self.budget
        request = ModelRequest(
            messages=question.messages,
            tools=question.tools,
            agent=question.agent,
            occasion=question.occasion,
            note_sent=self.journal.note_sent,
        )
        loop = asyncio.get_running_loop()
        whole = asyncio.timeout(max(min(budget.call, deadline - boottime()), 0.0))
        pace = asyncio.timeout(budget.first_chunk)
        try:
            async with whole, pace, aclosing(self.ladder.current.stream(request)) as chunks:
                async for chunk in chunks:
                    draft.take(chunk, self.journal)
                    # One timer, moved on as chunks come: a timer each would cost more than the chunk. A notice is not
                    # the model's word, which may then be as long in coming as at first.
                    patience = budget.first_chunk if isinstance(chunk, NoticeChunk) else budget.gap
                    pace.reschedule(loop.time() + patience)
        except ModelUnavailable as error:
            return _failed(error, draft)
        except TimeoutError:
            if not (whole.expired() or pace.expired()):
                raise
            return _too_slow(draft, budget, fell_silent=pace.expired())
        return None


def _failed(error: ModelUnavailable, draft: Draft) -> Failure:
    return Failure(
        message=str(error),
        code=error.code,
        retryable=error.retryable,
        partial="".join(draft.text),
        feedback=error.feedback,
        retry_after=(error.retry_after or 0.0) if isinstance(error, ProviderFailure) else 0.0,
    )


def _too_slow(draft: Draft, budget: Budget, *, fell_silent: bool) -> Failure:
    if not fell_silent:
        message, code = f"the model did not finish within {budget.call:g} s", "call_timeout"
    elif draft.is_empty:
        message, code = f"the model said nothing for {budget.first_chunk:g} s", "initial_response_timeout"
    else:
        message, code = f"the model fell silent for {budget.gap:g} s", "stall_timeout"
    return Failure(message=message, code=code, retryable=True, is_timeout=True, partial="".join(draft.text))
