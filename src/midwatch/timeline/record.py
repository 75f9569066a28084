"""Records one execution: each step's rows and its events in one commit, and the live view while a model speaks.

It keeps the promises that the loop (`TurnJournal`) and the tools (`CallJournal`) ask of a journal.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from types import MappingProxyType
from typing import Any
from uuid import UUID

from midwatch.domain.errors import DispatchTooLate
from midwatch.domain.messages import Role
from midwatch.domain.timeline import EventType, Phase, TimelineStatus, TimelineType
from midwatch.domain.tools import CallNote, CallState, ClearedCall, Refusal, ToolCall, ToolKind, ToolResult
from midwatch.kit.clock import boottime
from midwatch.kit.ids import new_id
from midwatch.safety.claims.findings import Inspection
from midwatch.safety.refusals import Code, build_refusal, render_refusal
from midwatch.store.calls import NotStarted, start_call
from midwatch.store.driver import Tx
from midwatch.store.fallbacks import ProviderSwitch, switch_provider
from midwatch.store.fence import pass_fence
from midwatch.store.journal import Batch, LlmInteraction, McpInteraction, commit_batch
from midwatch.store.results import pack
from midwatch.store.runs import withdraw_reply
from midwatch.store.sessions import add_warnings
from midwatch.timeline.announce import ExecutionPlace, announce_note, announce_phase
from midwatch.timeline.asides import Replacement, add_aside, add_fallback
from midwatch.timeline.entries import (
    add_entry,
    add_look,
    add_message,
    add_refusal,
    add_requested,
    add_settled,
    add_streamed,
)
from midwatch.timeline.flush import LiveStream
from midwatch.timeline.ledger import Ledger, SentRequest
from midwatch.timeline.render import NATIVE
from midwatch.timeline.replies import RepliedTurn
from midwatch.timeline.run import RunLog, Then, do_nothing
from midwatch.timeline.starts import explain_not_started, find_yes
from midwatch.timeline.summaries import SummaryRecorder
from midwatch.timeline.tallies import Tally
from midwatch.timeline.verdicts import describe_clearance, describe_refusal, describe_withdrawal

_NOTHING_JUDGED: Mapping[str, Any] = MappingProxyType({})


@dataclass(slots=True)
class _CallPlace:
    """Where a requested call stands: the place kept for its tool message, and its timeline entry."""

    sequence_number: int
    event_id: UUID
    requested_at: float
    deadline: float | None = None


@dataclass(slots=True, kw_only=True)
class ExecutionRecorder:
    run: RunLog
    stage_id: UUID
    execution_id: UUID
    next_sequence: int = 0
    last_text_id: UUID | None = None
    _calls: dict[UUID, _CallPlace] = field(default_factory=dict[UUID, _CallPlace])
    _looks: dict[UUID, float] = field(default_factory=dict[UUID, float])
    """Calls that code asks for, and when it did."""
    _text: LiveStream | None = None
    _thinking: LiveStream | None = None
    _ledger: Ledger = field(init=False)
    tally: Tally = field(init=False)

    def __post_init__(self) -> None:
        self.tally = Tally(meters=self.run.meters)
        self._ledger = self.run.open_ledger(stage_id=self.stage_id, execution_id=self.execution_id)

    @property
    def place(self) -> ExecutionPlace:
        return ExecutionPlace(session_id=self.run.session_id, stage_id=self.stage_id, execution_id=self.execution_id)

    def show_phase(self, phase: Phase, message: str) -> None:
        announce_phase(self.run.flusher, self.place, phase=phase, message=message)

    def stream_text(self, delta: str) -> None:
        if self._text is None:
            self._text = self._open(TimelineType.LLM_RESPONSE)
        self.run.flusher.stream(self._text, delta)

    def stream_thinking(self, delta: str) -> None:
        if self._thinking is None:
            self._thinking = self._open(TimelineType.LLM_THINKING)
        self.run.flusher.stream(self._thinking, delta)

    def note_sent(self, sent: SentRequest) -> None:
        self._ledger.note(sent)

    async def commit_opening(self, *, system: str, user: str) -> None:
        """The first two messages of the conversation."""
        batch = Batch()
        add_message(batch, Role.SYSTEM, batch.add_text(system), sequence=self._take_sequence())
        add_message(batch, Role.USER, batch.add_text(user), sequence=self._take_sequence())
        await self._commit(batch, progressed=False)

    async def commit_prompt(self, text: str) -> None:
        batch = Batch()
        add_message(batch, Role.USER, batch.add_text(text), sequence=self._take_sequence())
        await self._commit(batch, progressed=False)

    async def commit_reply(self, reply: RepliedTurn) -> None:
        batch = Batch()
        text_id = self._add_reply(batch, reply, TimelineStatus.COMPLETED)
        sequence = self._take_sequence()
        add_message(batch, Role.ASSISTANT, text_id, sequence=sequence, provider_state=reply.provider_state)
        for index, call in enumerate(reply.calls):
            event_id = add_requested(batch, call, message_sequence=sequence, index=index)
            self._calls[call.call_id] = _CallPlace(self._take_sequence(), event_id, boottime())
        await self._commit(batch, then=partial(self.tally.count_reply, reply))
        self.last_text_id = text_id

    async def commit_failure(self, reply: RepliedTurn, *, error: str, code: str, will_retry: bool) -> None:
        batch = Batch()
        self._add_reply(batch, reply, TimelineStatus.INTERRUPTED, error=error)
        kind = TimelineType.PROVIDER_RETRY if will_retry else TimelineType.ERROR
        add_entry(batch, kind, batch.add_text(error), metadata={"code": code, "provider": reply.provider})
        await self._commit(batch, progressed=False, then=partial(self.tally.count_failed_reply, reply, code=code))

    async def commit_fallback(self, fallback: Replacement) -> None:
        # Made once: tried again after a lost answer, the same rows are found to be there.
        batch = Batch()
        add_fallback(batch, fallback)
        switch = ProviderSwitch(
            provider=fallback.to_provider,
            backend=fallback.to_backend,
            model=fallback.to_model,
            reason=fallback.reason,
            code=fallback.code,
            attempt=fallback.attempt,
        )

        async def write(tx: Tx) -> int:
            await switch_provider(tx, self.execution_id, switch)
            return await commit_batch(
                tx,
                self.run.fence,
                batch,
                stage_id=self.stage_id,
                execution_id=self.execution_id,
                progressed=False,
            )

        await self.run.transact(write)
        self.tally.count_fallback(fallback)

    async def commit_notice(self, text: str, *, code: str) -> None:
        batch = Batch()
        add_entry(batch, TimelineType.PROVIDER_RETRY, batch.add_text(text), metadata={"code": code})
        await self._commit(batch, progressed=False)

    async def commit_warning(self, text: str) -> None:
        await self.run.transact(partial(add_warnings, fence=self.run.fence, warnings=[text]))

    def add_conclusion(self, batch: Batch, *, metadata: dict[str, Any], text: str | None = None) -> UUID | None:
        """The final analysis, as one more reference to the text of the last reply, or in words of its own."""
        text_id = self.last_text_id if text is None else batch.add_text(text)
        add_entry(batch, TimelineType.FINAL_ANALYSIS, text_id, metadata=metadata)
        return text_id

    def adopt_call(self, call: ToolCall, *, sequence_number: int, event_id: UUID) -> None:
        """A call that a former owner had journalled as requested."""
        self._calls[call.call_id] = _CallPlace(sequence_number, event_id, boottime())

    def expect_look(self, call: ToolCall) -> None:
        """A call that code asks for. It is no part of the conversation, and only reads."""
        self._looks[call.call_id] = boottime()

    async def start(self, cleared: ClearedCall) -> Refusal | None:
        if cleared.call.is_own:
            return build_refusal(Code.READ_ONLY_VIOLATION, "code only looks, and this is not known to be a look")
        place = self._calls[cleared.call.call_id]
        clearance = cleared.clearance
        # Taken before the commit: the machine's deadline is never later than the database's.
        place.deadline = boottime() + clearance.timeout

        async def write(tx: Tx) -> int:
            return await start_call(
                tx,
                self.run.fence,
                call_id=cleared.call.call_id,
                verdict=describe_clearance(clearance),
                targets=clearance.targets,
                changes=clearance.kind not in (ToolKind.READ, ToolKind.RESOLVE),
                within=timedelta(seconds=clearance.timeout),
                arguments=_arguments_sent(cleared),
                yes=find_yes(clearance),
            )

        try:
            await self.run.transact(write)
        except NotStarted as refused:
            return explain_not_started(refused, clearance)
        return None

    def check_dispatch(self, cleared: ClearedCall) -> None:
        self.run.check_lease()
        place = self._calls.get(cleared.call.call_id)
        deadline = None if place is None else place.deadline
        if deadline is not None and boottime() >= deadline:
            raise DispatchTooLate("the time for this call had passed before it could be sent")

    async def finish(self, cleared: ClearedCall, result: ToolResult, *, verified: tuple[str, ...] = ()) -> None:
        if cleared.call.is_own:
            await self._commit_look(cleared, result)
            return
        batch = Batch()
        seconds = boottime() - self._calls[cleared.call.call_id].requested_at
        interaction = McpInteraction(
            interaction_id=new_id(),
            server_name=cleared.tool.server,
            tool_name=cleared.tool.name,
            call_id=cleared.call.call_id,
            duration_ms=int(seconds * 1000),
            error_message=result.error,
        )
        batch.mcp.append(interaction)
        self._settle(
            batch,
            cleared.call,
            result,
            state=CallState.FINISHED,
            verdict=describe_clearance(cleared.clearance, verified=verified),
            interaction_id=interaction.interaction_id,
            arguments=_arguments_sent(cleared),
            targets=cleared.clearance.targets,
        )
        batch.tell(EventType.INTERACTION_CREATED, interaction.interaction_id)
        if result.whole is not None:
            batch.wholes.append(await asyncio.to_thread(pack, cleared.call.call_id, result.whole))
        await self._commit(batch, then=partial(self.tally.count_result, cleared, result, seconds=seconds))

    def open_summary(self, call: ToolCall, *, original_tokens: int) -> SummaryRecorder:
        """For a result that is settled and still unanswered."""
        return SummaryRecorder(
            run=self.run,
            stage_id=self.stage_id,
            execution_id=self.execution_id,
            call=call,
            sequence=self._calls[call.call_id].sequence_number,
            original_tokens=original_tokens,
            tally=self.tally,
        )

    async def _commit_look(self, cleared: ClearedCall, result: ToolResult) -> None:
        batch = Batch()
        seconds = boottime() - self._looks[cleared.call.call_id]
        add_look(batch, cleared, result, duration_ms=int(seconds * 1000))
        await self._commit(batch, progressed=False)

    async def refuse(
        self, call: ToolCall, refusal: Refusal, *, judged: Mapping[str, Any] = _NOTHING_JUDGED
    ) -> ToolResult:
        batch = Batch()
        result = ToolResult(content=render_refusal(refusal), error=refusal.code)
        if call.is_own:
            return result
        verdict = describe_refusal(refusal, judged)
        text_id = self._settle(batch, call, result, state=CallState.REFUSED, verdict=verdict)
        add_refusal(batch, call, text_id, refusal=refusal, verdict=verdict)
        await self._commit(batch, then=partial(self.tally.count_refusal, call, refusal))
        return result

    async def note_rewrite(self, call: ToolCall, refusal: Refusal) -> None:
        if call.is_own:
            return
        batch = Batch()
        text_id = batch.add_text(render_refusal(refusal))
        add_refusal(batch, call, text_id, refusal=refusal, verdict={"policy_rule": "gate:rewrite"})
        await self._commit(batch, progressed=False, then=partial(self.tally.count_refusal, call, refusal))

    async def commit_withdrawal(self, prompt: str, why: Refusal | Inspection) -> None:
        """The last reply is no conclusion: it is shown as withdrawn, and the model reads why."""
        batch = Batch()
        add_message(batch, Role.USER, batch.add_text(prompt), sequence=self._take_sequence())

        async def write(tx: Tx) -> int:
            await self.withdraw(tx, why)
            return await commit_batch(
                tx, self.run.fence, batch, stage_id=self.stage_id, execution_id=self.execution_id, progressed=False
            )

        await self.run.transact(write)
        self.tally.count_withdrawal(why)

    async def withdraw(self, tx: Tx, why: Refusal | Inspection) -> None:
        """Within a transaction of others: what was shown as the last reply is not what is concluded."""
        events = await withdraw_reply(
            tx, self.run.fence, self.execution_id, text_id=self.last_text_id, metadata=describe_withdrawal(why)
        )
        await pass_fence(tx, self.run.fence, events)

    async def settle_unknown(self, call: ToolCall, result: ToolResult) -> None:
        """A call that was in flight when its owner died or a person ended it. It is never sent again."""
        batch = Batch()
        self._settle(batch, call, result, state=CallState.UNKNOWN, verdict=None)
        await self._commit(batch)

    def show_note(self, cleared: ClearedCall, note: CallNote) -> None:
        announce_note(self.run.flusher, self.place, cleared=cleared, note=note)

    def _open(self, kind: TimelineType) -> LiveStream:
        stream = LiveStream(
            event_id=new_id(),
            session_id=self.run.session_id,
            stage_id=self.stage_id,
            execution_id=self.execution_id,
            event_type=kind,
            epoch=self.run.fence.epoch,
            # Thinking that streams beside it is told before it, as begun and as over.
            sequence_number=self.run.position + (1 if self._thinking is None else 3),
        )
        self.run.flusher.open_stream(stream)
        return stream

    def _close(self, stream: LiveStream | None) -> UUID:
        """The id under which watchers have seen the stream, if there was one."""
        if stream is None:
            return new_id()
        self.run.flusher.close_stream(stream)
        return stream.event_id

    def _take_sequence(self) -> int:
        self.next_sequence += 1
        return self.next_sequence - 1

    def _add_reply(
        self, batch: Batch, reply: RepliedTurn, status: TimelineStatus, *, error: str | None = None
    ) -> UUID | None:
        """Thinking, text and the interaction of one model call; returns the text's id."""
        thinking, self._thinking = self._thinking, None
        text, self._text = self._text, None
        interaction_id = new_id()
        shown = partial(add_streamed, batch, status=status, interaction_id=interaction_id)
        thinking_id = shown(
            TimelineType.LLM_THINKING,
            reply.thinking,
            event_id=self._close(thinking),
            # The usual source is not worth a column of every row; whoever reads fills it in.
            metadata=None if reply.thinking_source == NATIVE else {"source": reply.thinking_source},
        )
        text_id = shown(TimelineType.LLM_RESPONSE, reply.text, event_id=self._close(text))
        batch.llm.append(
            LlmInteraction(
                interaction_id=interaction_id,
                interaction_type=reply.interaction_type,
                llm_provider=reply.provider,
                model_name=reply.model,
                last_message_sequence=self.next_sequence - 1,
                llm_request={"iteration": reply.iteration, "messages_count": reply.messages_count},
                response_text_id=text_id,
                thinking_text_id=thinking_id,
                usage=reply.usage,
                estimated_cost_usd=reply.cost_usd,
                duration_ms=reply.duration_ms,
                error_message=error,
            )
        )
        batch.outbound += self._ledger.take(interaction_id)
        batch.tell(EventType.INTERACTION_CREATED, interaction_id)
        for aside in reply.asides:
            add_aside(batch, aside)
        return text_id

    def _settle(
        self,
        batch: Batch,
        call: ToolCall,
        result: ToolResult,
        *,
        state: CallState,
        verdict: dict[str, Any] | None,
        interaction_id: UUID | None = None,
        arguments: str | None = None,
        targets: tuple[str, ...] = (),
    ) -> UUID:
        place = self._calls[call.call_id]
        return add_settled(
            batch,
            call,
            result,
            state=state,
            sequence=place.sequence_number,
            event_id=place.event_id,
            verdict=verdict,
            interaction_id=interaction_id,
            arguments=arguments,
            targets=targets,
        )

    async def _commit(self, batch: Batch, *, progressed: bool = True, then: Then = do_nothing) -> None:
        await self.run.commit(
            batch, stage_id=self.stage_id, execution_id=self.execution_id, progressed=progressed, then=then
        )


def _arguments_sent(cleared: ClearedCall) -> str | None:
    """When they are not what the model wrote, which is in the journal already."""
    return None if cleared.clearance.read_as is None else cleared.call.arguments
