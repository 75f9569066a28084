"""The loop: ask, act, observe, until the agent concludes or its iterations are used up.

It knows a model, a gate and a journal. Where it stands follows from the conversation alone, so a run that was cut
anywhere goes on from what was committed.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import structlog

from midwatch.agent.ask import Asker, Sleep
from midwatch.agent.budget import Budget
from midwatch.agent.claims import Check, find_nothing
from midwatch.agent.draft import Question
from midwatch.agent.journal import ConclusionJournal, Reply, Withdrawal
from midwatch.agent.manners import INVESTIGATES, Manner
from midwatch.agent.outcome import Concluded, Failed, Outcome, Parked, TimedOut
from midwatch.agent.prompts.render import (
    is_not_yet,
    is_unfounded,
    read_used_up,
    render_budget_left,
    render_budget_spent,
    render_conclude_now,
    render_not_yet,
    render_say_something,
    render_unfounded,
)
from midwatch.agent.purse import Purse, PurseWatch
from midwatch.agent.spans import note_result, open_tool_span
from midwatch.domain.messages import AssistantMessage, Message, ToolMessage, UserMessage
from midwatch.domain.timeline import InteractionType, Phase
from midwatch.domain.tools import ToolCall, ToolDefinition, ToolResult, Waiting
from midwatch.llm.ladder import Ladder
from midwatch.tools.appraisal import LOOKS
from midwatch.tools.gate import Gate
from midwatch.tools.order import group_calls


def _do_nothing() -> None:
    """Nobody could open them."""


@dataclass(slots=True, kw_only=True)
class Agent:
    """One model, one conversation."""

    name: str
    ladder: Ladder
    tools: Gate
    journal: ConclusionJournal
    budget: Budget
    messages: list[Message]
    manner: Manner = INVESTIGATES
    purse: Purse = field(default_factory=Purse)
    """Shared with all agents of the session."""
    switches: int = 0
    """How often the provider has changed before this run."""
    occasion: int = 0
    """How often an agent of this name has been at work in the session before."""
    sleep: Sleep = asyncio.sleep
    check: Check = find_nothing
    """Compares a conclusion with the record."""
    offer_results: Callable[[], None] = _do_nothing
    """Called when results were cut out of the conversation: from then on they are worth opening again."""
    _asker: Asker = field(init=False)
    _purse_watch: PurseWatch = field(init=False)

    def __post_init__(self) -> None:
        self._purse_watch = PurseWatch(self.purse)
        self._asker = Asker(
            ladder=self.ladder,
            journal=self.journal,
            budget=self.budget,
            purse=self.purse,
            messages=self.messages,
            say=self._say,
            switches=self.switches,
            sleep=self.sleep,
            relist=self._relist,
        )

    async def investigate(self, open_calls: Sequence[ToolCall] = ()) -> Outcome:
        """`open_calls` are calls of the last reply that have no result yet."""
        if waiting := await self._act(open_calls):
            return _park(waiting)
        self._put_answers_in_order()
        while self._may_go_on():
            if (concluded := self._conclusion()) and (accepted := await self._accept(concluded)):
                return accepted
            if self._is_waiting_for_words() and not await self._prompt_for_words():
                return Failed(error="the model answered with nothing, again and again")
            await self._mention_budget()
            reply = await self._ask(await self._list_tools(), self.manner.interaction)
            if not isinstance(reply, Reply):
                return reply
            if waiting := await self._act(reply.calls):
                return _park(waiting)
        concluded = self._conclusion()
        return await self._conclude() if concluded is None else await self._clean(concluded)

    def _may_go_on(self) -> bool:
        """Whoever was told to conclude does, also when it was a former owner who said so."""
        if self.manner.answers_once:
            return True
        is_left = self._iterations() < self.budget.max_iterations and not self.purse.is_empty
        return is_left and self._find_order() is None

    async def _conclude(self) -> Outcome:
        """One last question without tools."""
        if self._find_order() is None:
            await self._say(self._concluding_prompt())
        while self._replies_since_order() <= self.budget.empty_replies:
            reply = await self._ask((), InteractionType.FORCED_CONCLUSION)
            if not isinstance(reply, Reply):
                return reply
            if concluded := self._conclusion():
                return await self._clean(concluded)
        return Failed(error="the model was told to conclude and said nothing, again and again")

    def _concluding_prompt(self) -> str:
        if self._iterations() < self.budget.max_iterations:
            return render_budget_spent(self.purse.describe_used_up())
        return render_conclude_now(self.budget.max_iterations)

    async def _list_tools(self) -> Sequence[ToolDefinition]:
        """Asked each time: a server may have told that its tools are others now."""
        return () if self.manner.answers_once else await self.tools.list_tools()

    async def _relist(self) -> Sequence[ToolDefinition]:
        self.offer_results()
        return await self._list_tools()

    async def _mention_budget(self) -> None:
        left = None if self.manner.answers_once else self._purse_watch.next_notice()
        if left is not None:
            await self._say(render_budget_left(left))

    async def _ask(
        self, tools: Sequence[ToolDefinition], interaction_type: InteractionType
    ) -> Reply | Failed | TimedOut:
        question = Question(
            messages=self.messages,
            tools=tools,
            agent=self.name,
            iteration=self._iterations() + 1,
            interaction_type=interaction_type,
            is_last=self.manner.answers_once or interaction_type is InteractionType.FORCED_CONCLUSION,
            occasion=self.occasion,
        )
        self._show_asking(question)
        reply = await self._asker.ask(question)
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
        if self.manner.answers_once:
            self.journal.show_phase(self.manner.phase, "Asking for an answer")
        elif question.is_last:
            self.journal.show_phase(Phase.CONCLUDING, "Asking for a conclusion")
        else:
            self.journal.show_phase(
                self.manner.phase, f"Iteration {question.iteration} of {self.budget.max_iterations}"
            )

    async def _act(self, calls: Sequence[ToolCall]) -> list[Waiting]:
        """Neighbouring reads side by side, writes one after another, results in the order of the calls.

        What waits for a person holds up all that comes after it; its neighbours come to their end.
        """
        for group in group_calls(calls, self.tools.kind_of):
            self.journal.show_phase(Phase.GATHERING_INFO, f"Calling {', '.join(call.name for call in group)}")
            results = await self._call_all(group)
            self.messages += [
                ToolMessage(
                    provider_id=call.provider_id, name=call.name, content=result.content, is_error=result.is_error
                )
                for call, result in zip(group, results, strict=True)
                if isinstance(result, ToolResult)
            ]
            if waiting := [result for result in results if isinstance(result, Waiting)]:
                return waiting
        return []

    async def _call_all(self, calls: Sequence[ToolCall]) -> list[ToolResult | Waiting]:
        if len(calls) == 1:
            return [await self._call(calls[0])]
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._attempt(call), name=f"call-{call.name}") for call in calls]
        return [_raise_or_return(task.result()) for task in tasks]

    async def _call(self, call: ToolCall) -> ToolResult | Waiting:
        with structlog.contextvars.bound_contextvars(call_id=str(call.call_id)), open_tool_span(call) as span:
            result = await self.tools.call(call)
            note_result(span, call, result)
        return result

    async def _attempt(self, call: ToolCall) -> ToolResult | Waiting | Exception:
        """An error as a value: each call of the group comes to its own end, and the group has nothing to wrap."""
        try:
            return await self._call(call)
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

    def _conclusion(self) -> Concluded | None:
        match self.messages[-1]:
            case AssistantMessage(text=text, calls=()) if text.strip():
                order = self._find_order()
                return Concluded(text=text, iterations=self._iterations(), used_up=order and order.used_up)
            case _:
                return None

    async def _accept(self, concluded: Concluded) -> Concluded | None:
        """None when the last reply is no conclusion yet, and the model was told why.

        What was changed is looked at first, or the model has been sent back to it often enough: its conclusion stands
        then, and the session says what nobody has looked at. Words that nothing on record bears out may be put right
        once.
        """
        refusal = self.tools.refuse_conclusion()
        if refusal is not None and await self._count_sent_back() < self.budget.refused_drafts:
            await self._withdraw(render_not_yet(reason=refusal.reason, hint=refusal.hint), refusal)
            return None
        cleaned = await self._clean(concluded)
        if cleaned.claims is None or not cleaned.claims.has_phantom or self._has_no_correction_left():
            return cleaned
        phantoms = [finding for finding in cleaned.claims.findings if finding.kind.is_phantom]
        await self._withdraw(render_unfounded(phantoms), cleaned.claims)
        return None

    async def _count_sent_back(self) -> int:
        """Since the model last asked for a change."""
        # Whoever takes over does not know yet which calls are changes.
        await self.tools.list_tools()
        times = 0
        for message in reversed(self.messages):
            match message:
                case AssistantMessage(calls=calls) if any(self._is_change(call) for call in calls):
                    break
                case UserMessage(text=text) if is_not_yet(text):
                    times += 1
                case _:
                    pass
        return times

    def _is_change(self, call: ToolCall) -> bool:
        return self.tools.kind_of(call) not in LOOKS

    async def _clean(self, concluded: Concluded) -> Concluded:
        """The conclusion without what nothing on record bears out."""
        inspection = await self.check(concluded.text, self.messages)
        was_corrected = self._was_corrected()
        if not inspection.findings:
            return replace(concluded, was_corrected=was_corrected)
        return replace(concluded, text=inspection.safe_text, claims=inspection, was_corrected=was_corrected)

    def _has_no_correction_left(self) -> bool:
        return self.manner.answers_once or self._was_corrected()

    def _was_corrected(self) -> bool:
        return any(isinstance(message, UserMessage) and is_unfounded(message.text) for message in self.messages)

    async def _withdraw(self, prompt: str, why: Withdrawal) -> None:
        await self.journal.commit_withdrawal(prompt, why)
        self.messages.append(UserMessage(text=prompt))

    def _is_waiting_for_words(self) -> bool:
        match self.messages[-1]:
            case AssistantMessage(calls=()):
                return True
            case _:
                return False

    async def _prompt_for_words(self) -> bool:
        prompt = render_say_something(has_tools=not self.manner.answers_once)
        asked = sum(isinstance(message, UserMessage) and message.text == prompt for message in self.messages)
        if asked >= self.budget.empty_replies:
            return False
        await self._say(prompt)
        return True

    def _find_order(self) -> "_Order | None":
        """Where the model was told to conclude."""
        for place in reversed(range(len(self.messages))):
            message = self.messages[place]
            if isinstance(message, UserMessage) and (used_up := read_used_up(message.text)):
                return _Order(place=place, used_up=used_up)
        return None

    def _replies_since_order(self) -> int:
        order = self._find_order()
        since = self.messages[order.place :] if order else ()
        return sum(isinstance(message, AssistantMessage) for message in since)

    async def _say(self, text: str) -> None:
        await self.journal.commit_prompt(text)
        self.messages.append(UserMessage(text=text))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Order:
    """To conclude, because something was used up."""

    place: int
    used_up: str


def _place_of(asked: Sequence[str], message: Message) -> int:
    return asked.index(message.provider_id) if isinstance(message, ToolMessage) else len(asked)


def _park(waiting: Sequence[Waiting]) -> Parked:
    return Parked(approvals=tuple(each.approval_id for each in waiting))


def _raise_or_return(outcome: ToolResult | Waiting | Exception) -> ToolResult | Waiting:
    if isinstance(outcome, Exception):
        raise outcome
    return outcome
