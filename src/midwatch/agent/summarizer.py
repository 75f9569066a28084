"""Sums up a long tool result for the agent that asked for it. Fails open: the agent then reads the result, cut."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, final

import structlog

from midwatch.agent.ask import Asker, Sleep
from midwatch.agent.budget import Budget
from midwatch.agent.draft import Question
from midwatch.agent.journal import Reply, TurnJournal
from midwatch.agent.prompts.render import render_summarizer, render_tool_output
from midwatch.agent.purse import Purse
from midwatch.agent.retelling import retell
from midwatch.domain.errors import ModelUnavailable
from midwatch.domain.markers import escape_forged_markers
from midwatch.domain.messages import Message, SystemMessage, UserMessage
from midwatch.domain.results import name_result
from midwatch.domain.timeline import InteractionType, Phase
from midwatch.domain.tools import ToolCall, ToolResult
from midwatch.kit.tokens import estimate_tokens, fill_tokens
from midwatch.llm.ladder import Ladder
from midwatch.tools.results.excerpt import cut_middle

NAME = "summarizer"
"""Under which scripted models know it."""

_INPUT_TOKENS = 100_000
_CONVERSATION_TOKENS = 6_000
_SHARE = 0.6
"""Of a model's window that the result may fill: estimates are rough, and the rest of the question needs room too."""
_CLOSING = "\n[the summary was longer and is cut here]"

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryPlan:
    """How the long results of one server are summed up."""

    limit_tokens: int
    open: Callable[[], Awaitable[Ladder]]
    """The model to ask, and those that stand in for it. Raises ModelUnavailable."""


class SummaryJournal(TurnJournal, Protocol):
    """Of one summary."""

    def name_model(self, *, provider: str, model: str) -> None:
        """Who is asked."""
        ...

    async def commit_summary(self, content: str) -> None:
        """The reply, and what the agent reads as the answer to its call. Raises LeaseLost."""
        ...

    async def commit_unsummarised(self, content: str, *, reason: str) -> None:
        """There is no summary, and what the agent reads instead. Raises LeaseLost."""
        ...


class SummaryJournals(Protocol):
    def open_summary(self, call: ToolCall, *, original_tokens: int) -> SummaryJournal: ...


@final
@dataclass(slots=True, kw_only=True)
class Summarizer:
    plans: Mapping[str, SummaryPlan]
    """By server id."""
    journals: SummaryJournals
    budget: Budget
    purse: Purse
    messages: Sequence[Message] = field(default_factory=list[Message])
    """The agent's conversation as it is now: what it is after decides what matters in a result."""
    sleep: Sleep = asyncio.sleep

    async def __call__(self, call: ToolCall, result: ToolResult) -> ToolResult:
        whole = result.content if result.whole is None else result.whole
        journal = self.journals.open_summary(call, original_tokens=estimate_tokens(whole))
        answer = await self._sum_up(call, whole, journal)
        if isinstance(answer, Reply):
            content = self._compose(call, whole, answer)
            await journal.commit_summary(content)
        else:
            content = f"[This result could not be summed up: {answer}.]\n{result.content}"
            log.warning("tool_result_not_summarised", call_id=str(call.call_id))
            await journal.commit_unsummarised(content, reason=f"{call.name} could not be summed up: {answer}")
        return replace(result, content=content, whole=None, awaits_summary=False)

    async def _sum_up(self, call: ToolCall, whole: str, journal: SummaryJournal) -> Reply | str:
        """The reply, or why there is none."""
        plan = self.plans.get(_server(call))
        if plan is None:
            return "no model is configured for it any more"
        if self.purse.is_empty:
            return f"the budget of {self.purse.describe_used_up()} is used up"
        try:
            ladder = await plan.open()
        except ModelUnavailable as error:
            return str(error)
        journal.name_model(provider=ladder.current.provider, model=ladder.current.name)
        journal.show_phase(Phase.DISTILLING, f"Summing up {len(whole):,} characters of {call.name}")
        reply = await self._ask(self._write(call, whole, plan=plan, window=ladder.window), ladder, journal)
        if not isinstance(reply, Reply):
            return reply.error
        return reply if reply.text.strip() else "the model said nothing"

    async def _ask(self, messages: list[Message], ladder: Ladder, journal: SummaryJournal) -> "Reply | _Without":
        async def say(text: str) -> None:
            messages.append(UserMessage(text=text))

        asker = Asker(
            ladder=ladder,
            journal=journal,
            budget=self.budget,
            purse=self.purse,
            messages=messages,
            say=say,
            sleep=self.sleep,
        )
        question = Question(
            messages=messages,
            tools=(),
            agent=NAME,
            iteration=1,
            interaction_type=InteractionType.SUMMARIZATION,
            is_last=True,
        )
        return await asker.ask(question)

    def _write(self, call: ToolCall, whole: str, *, plan: SummaryPlan, window: int | None) -> list[Message]:
        server, _, tool = call.name.partition(".")
        most = _INPUT_TOKENS if window is None else min(_INPUT_TOKENS, int(window * _SHARE))
        output = cut_middle(whole, most=fill_tokens(most), explain=_explain_cut)
        conversation = retell(self.messages, most=fill_tokens(min(_CONVERSATION_TOKENS, most)))
        return [
            SystemMessage(text=render_summarizer(server=server, tool=tool, max_tokens=plan.limit_tokens)),
            UserMessage(text=render_tool_output(conversation=conversation, output=output)),
        ]

    def _compose(self, call: ToolCall, whole: str, reply: Reply) -> str:
        limit = fill_tokens(self.plans[_server(call)].limit_tokens)
        text = escape_forged_markers(reply.text.strip())
        if len(text) > limit:
            text = text[: limit - len(_CLOSING)] + _CLOSING
        return (
            f"[{call.name} answered with {len(whole):,} characters, about {estimate_tokens(whole):,} tokens. "
            f"Below is a summary of them by {reply.model}. All of them are kept as result {name_result(call.call_id)}: "
            "use result.search, result.slice or result.query before you call the tool again, and before you rely on a "
            f"figure.]\n\n{text}"
        )


class _Without(Protocol):
    @property
    def error(self) -> str: ...


def _server(call: ToolCall) -> str:
    return call.name.partition(".")[0]


def _explain_cut(left_out: int) -> str:
    return f"[… {left_out:,} characters are left out here …]"
