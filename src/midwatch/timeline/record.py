"""Records one execution: each step's rows and its events in one commit, and the live view while a model speaks.

It keeps the promises that the loop (`TurnJournal`) and the tools (`CallJournal`) ask of a journal.
"""

import asyncio
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

from midwatch.domain.errors import DispatchTooLate
from midwatch.domain.messages import Role
from midwatch.domain.timeline import EventType, Phase, TimelineStatus, TimelineType
from midwatch.domain.tools import CallNote, CallState, Clearance, ClearedCall, Refusal, ToolCall, ToolResult
from midwatch.kit.clock import boottime
from midwatch.kit.ids import new_id
from midwatch.safety.refusals import render_refusal
from midwatch.store.calls import NotStarted, Start, start_call
from midwatch.store.driver import Tx
from midwatch.store.fallbacks import ProviderSwitch, switch_provider
from midwatch.store.journal import Batch, LlmInteraction, McpInteraction, commit_batch
from midwatch.store.results import pack
from midwatch.store.sessions import add_warnings
from midwatch.timeline.announce import ExecutionPlace, announce_note, announce_phase
from midwatch.timeline.asides import Replacement, add_aside, add_fallback
from midwatch.timeline.entries import add_entry, add_message, add_requested, add_settled, add_streamed
from midwatch.timeline.flush import LiveStream
from midwatch.timeline.ledger import Ledger, SentRequest
from midwatch.timeline.render import NATIVE
from midwatch.timeline.replies import RepliedTurn
from midwatch.timeline.run import RunLog
from midwatch.timeline.summaries import SummaryRecorder


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
    _text: LiveStream | None = None
    _thinking: LiveStream | None = None
    _ledger: Ledger = field(init=False)

    def __post_init__(self) -> None:
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
        await self._commit(batch)
        self.last_text_id = text_id

    async def commit_failure(self, reply: RepliedTurn, *, error: str, code: str, will_retry: bool) -> None:
        batch = Batch()
        self._add_reply(batch, reply, TimelineStatus.INTERRUPTED, error=error)
        kind = TimelineType.PROVIDER_RETRY if will_retry else TimelineType.ERROR
        add_entry(batch, kind, batch.add_text(error), metadata={"code": code, "provider": reply.provider})
        await self._commit(batch, progressed=False)

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

    async def commit_notice(self, text: str, *, code: str) -> None:
        batch = Batch()
        add_entry(batch, TimelineType.PROVIDER_RETRY, batch.add_text(text), metadata={"code": code})
        await self._commit(batch, progressed=False)

    async def commit_warning(self, text: str) -> None:
        await self.run.transact(partial(add_warnings, fence=self.run.fence, warnings=[text]))

    def add_conclusion(self, batch: Batch, *, metadata: dict[str, Any]) -> None:
        """The final analysis, as one more reference to the text of the last reply."""
        add_entry(batch, TimelineType.FINAL_ANALYSIS, self.last_text_id, metadata=metadata)

    def adopt_call(self, call: ToolCall, *, sequence_number: int, event_id: UUID) -> None:
        """A call that a former owner had journalled as requested."""
        self._calls[call.call_id] = _CallPlace(sequence_number, event_id, boottime())

    async def start(self, cleared: ClearedCall) -> Refusal | None:
        place = self._calls[cleared.call.call_id]
        clearance = cleared.clearance
        # Taken before the commit: the machine's deadline is never later than the database's.
        place.deadline = boottime() + clearance.timeout

        async def write(tx: Tx) -> int:
            return await start_call(
                tx,
                self.run.fence,
                call_id=cleared.call.call_id,
                verdict=_verdict(clearance),
                targets=clearance.targets,
                within=timedelta(seconds=clearance.timeout),
                arguments=_arguments_sent(cleared),
            )

        try:
            await self.run.transact(write)
        except NotStarted as refused:
            return _not_started(refused, clearance)
        return None

    def check_dispatch(self, cleared: ClearedCall) -> None:
        self.run.check_lease()
        deadline = self._calls[cleared.call.call_id].deadline
        if deadline is not None and boottime() >= deadline:
            raise DispatchTooLate("the time for this call had passed before it could be sent")

    async def finish(self, cleared: ClearedCall, result: ToolResult) -> None:
        batch = Batch()
        interaction = McpInteraction(
            interaction_id=new_id(),
            server_name=cleared.tool.server,
            tool_name=cleared.tool.name,
            call_id=cleared.call.call_id,
            duration_ms=int((boottime() - self._calls[cleared.call.call_id].requested_at) * 1000),
            error_message=result.error,
        )
        batch.mcp.append(interaction)
        self._settle(
            batch,
            cleared.call,
            result,
            state=CallState.FINISHED,
            verdict=_verdict(cleared.clearance),
            interaction_id=interaction.interaction_id,
            arguments=_arguments_sent(cleared),
        )
        batch.tell(EventType.INTERACTION_CREATED, interaction.interaction_id)
        if result.whole is not None:
            batch.wholes.append(await asyncio.to_thread(pack, cleared.call.call_id, result.whole))
        await self._commit(batch)

    def open_summary(self, call: ToolCall, *, original_tokens: int) -> SummaryRecorder:
        """For a result that is settled and still unanswered."""
        return SummaryRecorder(
            run=self.run,
            stage_id=self.stage_id,
            execution_id=self.execution_id,
            call=call,
            sequence=self._calls[call.call_id].sequence_number,
            original_tokens=original_tokens,
        )

    async def refuse(self, call: ToolCall, refusal: Refusal) -> ToolResult:
        batch = Batch()
        result = ToolResult(content=render_refusal(refusal), error=refusal.code)
        text_id = self._settle(batch, call, result, state=CallState.REFUSED, verdict={"refused": refusal.code})
        metadata = {"code": refusal.code, "tool_name": call.name, "call_id": str(call.call_id)}
        add_entry(batch, TimelineType.TOOL_REFUSED, text_id, metadata=metadata)
        await self._commit(batch)
        return result

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
        )

    async def _commit(self, batch: Batch, *, progressed: bool = True) -> None:
        await self.run.commit(batch, stage_id=self.stage_id, execution_id=self.execution_id, progressed=progressed)


def _verdict(clearance: Clearance) -> dict[str, Any]:
    verdict: dict[str, Any] = {"kind": clearance.kind, "proven": clearance.proven, "rule": clearance.rule}
    further = {"observed": clearance.observed, "read_as": clearance.read_as}
    return verdict | {name: word for name, word in further.items() if word is not None}


def _arguments_sent(cleared: ClearedCall) -> str | None:
    """When they are not what the model wrote, which is in the journal already."""
    return None if cleared.clearance.read_as is None else cleared.call.arguments


def _not_started(refused: NotStarted, clearance: Clearance) -> Refusal:
    if refused.why is Start.STOPPED:
        return Refusal(
            code="EMERGENCY_STOP",
            reason="every change is stopped by an operator",
            hint="Do not try again. Finish the analysis with what you know and say that changes are stopped.",
        )
    return Refusal(
        code="TARGET_BUSY",
        reason="the target is being changed, or an earlier change of it has an unknown outcome",
        hint="Read the target's state first; try the change again later only if it is still needed.",
        details={"targets": list(clearance.targets)},
    )
