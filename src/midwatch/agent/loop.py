"""The loop: ask, act, observe, until the agent concludes or its iterations are used up.

It knows a model, a gate and a journal. Where it stands follows from the conversation alone, so a run that was cut
anywhere goes on from what was committed.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from midwatch.agent.ask import Question, ask
from midwatch.agent.budget import Budget
from midwatch.agent.journal import Reply, TurnJournal
from midwatch.agent.outcome import Concluded, Failed, Outcome, TimedOut
from midwatch.agent.prompts.render import render_conclude_now, render_say_something
from midwatch.domain.messages import AssistantMessage, Message, ToolMessage, UserMessage
from midwatch.domain.timeline import InteractionType, Phase
from midwatch.domain.tools import ToolCall, ToolDefinition, ToolResult
from midwatch.llm.model import Model
from midwatch.tools.gate import Gate
from midwatch.tools.order import group_calls


@dataclass(slots=True, kw_only=True)
class Agent:
    """One model, one conversation."""

    name: str
    model: Model
    tools: Gate
    journal: TurnJournal
    budget: Budget
    messages: list[Message]

    async def investigate(self, open_calls: Sequence[ToolCall] = ()) -> Outcome:
        """`open_calls` are calls of the last reply that have no result yet."""
        await self._act(open_calls)
        self._put_answers_in_order()
        tools = await self.tools.list_tools()
        while self._iterations() < self.budget.max_iterations:
            if concluded := self._conclusion(forced=False):
                return concluded
            if self._is_waiting_for_words() and not await self._prompt_for_words():
                return Failed(error="the model answered with nothing, again and again")
            reply = await self._ask(tools, InteractionType.ITERATION)
            if not isinstance(reply, Reply):
                return reply
            await self._act(reply.calls)
        return self._conclusion(forced=False) or await self._conclude()

    async def _conclude(self) -> Outcome:
        """One last question without tools."""
        prompt = render_conclude_now(self.budget.max_iterations)
        if self._replies_since(prompt) is None:
            await self._say(prompt)
        while (self._replies_since(prompt) or 0) <= self.budget.empty_replies:
            reply = await self._ask((), InteractionType.FORCED_CONCLUSION)
            if not isinstance(reply, Reply):
                return reply
            if concluded := self._conclusion(forced=True):
                return concluded
        return Failed(error="the model did not conclude when its iterations were used up")

    async def _ask(
        self, tools: Sequence[ToolDefinition], interaction_type: InteractionType
    ) -> Reply | Failed | TimedOut:
        question = Question(
            messages=self.messages,
            tools=tools,
            agent=self.name,
            iteration=self._iterations() + 1,
            interaction_type=interaction_type,
        )
        self._show_asking(question)
        reply = await ask(question, model=self.model, journal=self.journal, budget=self.budget)
        if isinstance(reply, Reply):
            self.messages.append(
                AssistantMessage(
                    text=reply.text,
                    thinking=reply.thinking,
                    calls=reply.calls,
                    provider_state=reply.provider_state,
                )
            )
        return reply

    def _show_asking(self, question: Question) -> None:
        if question.is_last:
            self.journal.show_phase(Phase.CONCLUDING, "Asking for a conclusion")
        else:
            self.journal.show_phase(
                Phase.INVESTIGATING, f"Iteration {question.iteration} of {self.budget.max_iterations}"
            )

    async def _act(self, calls: Sequence[ToolCall]) -> None:
        """Neighbouring reads side by side, writes one after another, results in the order of the calls."""
        for group in group_calls(calls, self.tools.kind_of):
            self.journal.show_phase(Phase.GATHERING_INFO, f"Calling {', '.join(call.name for call in group)}")
            for call, result in zip(group, await self._call_all(group), strict=True):
                self.messages.append(
                    ToolMessage(
                        provider_id=call.provider_id, name=call.name, content=result.content, is_error=result.is_error
                    )
                )

    async def _call_all(self, calls: Sequence[ToolCall]) -> list[ToolResult]:
        if len(calls) == 1:
            return [await self.tools.call(calls[0])]
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._attempt(call), name=f"call-{call.name}") for call in calls]
        return [_raise_or_return(task.result()) for task in tasks]

    async def _attempt(self, call: ToolCall) -> ToolResult | Exception:
        """An error as a value: each call of the group comes to its own end, and the group has nothing to wrap."""
        try:
            return await self.tools.call(call)
        except Exception as error:  # noqa: BLE001 -- raised again as soon as all calls of the group are over
            return error

    def _put_answers_in_order(self) -> None:
        """A resumed run answers the last reply's calls piece by piece; the model reads them in the order it asked."""
        for place in reversed(range(len(self.messages))):
            reply = self.messages[place]
            if isinstance(reply, AssistantMessage):
                asked = [call.provider_id for call in reply.calls]
                self.messages[place + 1 :] = sorted(self.messages[place + 1 :], key=partial(_place_of, asked))
                return

    def _iterations(self) -> int:
        return sum(isinstance(message, AssistantMessage) for message in self.messages)

    def _conclusion(self, *, forced: bool) -> Concluded | None:
        match self.messages[-1]:
            case AssistantMessage(text=text, calls=()) if text.strip():
                iterations = self._iterations()
                return Concluded(
                    text=text, forced=forced or iterations > self.budget.max_iterations, iterations=iterations
                )
            case _:
                return None

    def _is_waiting_for_words(self) -> bool:
        match self.messages[-1]:
            case AssistantMessage(calls=()):
                return True
            case _:
                return False

    async def _prompt_for_words(self) -> bool:
        prompt = render_say_something()
        asked = sum(isinstance(message, UserMessage) and message.text == prompt for message in self.messages)
        if asked >= self.budget.empty_replies:
            return False
        await self._say(prompt)
        return True

    def _replies_since(self, prompt: str) -> int | None:
        """How often the model has spoken since it was told this; None if it was not."""
        told = [index for index, message in enumerate(self.messages) if message == UserMessage(text=prompt)]
        if not told:
            return None
        return sum(isinstance(message, AssistantMessage) for message in self.messages[told[-1] :])

    async def _say(self, text: str) -> None:
        await self.journal.commit_prompt(text)
        self.messages.append(UserMessage(text=text))


def _place_of(asked: Sequence[str], message: Message) -> int:
    return asked.index(message.provider_id) if isinstance(message, ToolMessage) else len(asked)


def _raise_or_return(outcome: ToolResult | Exception) -> ToolResult:
    if isinstance(outcome, Exception):
        raise outcome
    return outcome
