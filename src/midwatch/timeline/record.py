"""Records one execution: each step's rows and its events in one commit, and the live view while a model speaks.

It keeps the promises that the loop (`TurnJournal`) and the tools (`CallJournal`) ask of a journal.
"""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Protocol
from uuid import UUID

from midwatch.domain.errors import DispatchTooLate
from midwatch.domain.messages import Role, Usage
from midwatch.domain.timeline import EventType, InteractionType, TimelineStatus, TimelineType
from midwatch.domain.tools import CallState, Clearance, ClearedCall, Refusal, ToolCall, ToolResult
from midwatch.kit.clock import boottime
from midwatch.kit.ids import new_id
from midwatch.safety.refusals import render_refusal
from midwatch.store.calls import NotStarted, Start, start_call
from midwatch.store.driver import Tx
from midwatch.store.journal import (
    Batch,
    ClosedEvent,
    LlmInteraction,
    McpInteraction,
    RequestedCall,
    SettledCall,
    StoredMessage,
    TimelineEvent,
)
from midwatch.timeline.flush import LiveStream
from midwatch.timeline.run import RunLog


class RepliedTurn(Protocol):
    """The parts of a model's reply that are recorded."""

    @property
    def text(self) -> str: ...
    @property
    def thinking(self) -> str: ...
    @property
    def calls(self) -> tuple[ToolCall, ...]: ...
    @property
    def usage(self) -> Usage: ...
    @property
    def provider_state(self) -> bytes | None: ...
    @property
    def duration_ms(self) -> int: ...
    @property
    def interaction_type(self) -> InteractionType: ...
    @property
    def iteration(self) -> int: ...
    @property
    def messages_count(self) -> int: ...


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
    provider: str
    model: str
    next_sequence: int = 0
    last_text_id: UUID | None = None
    _calls: dict[UUID, _CallPlace] = field(default_factory=dict[UUID, _CallPlace])
    _text: LiveStream | None = None
    _thinking: LiveStream | None = None

    def stream_text(self, delta: str) -> None:
        if self._text is None:
            self._text = self._open(TimelineType.LLM_RESPONSE)
        self.run.flusher.stream(self._text, delta)

    def stream_thinking(self, delta: str) -> None:
        if self._thinking is None:
            self._thinking = self._open(TimelineType.LLM_THINKING)
        self.run.flusher.stream(self._thinking, delta)

    async def commit_opening(self, *, system: str, user: str) -> None:
        """The first two messages of the conversation."""
        batch = Batch()
        self._add_message(batch, Role.SYSTEM, batch.add_text(system))
        self._add_message(batch, Role.USER, batch.add_text(user))
        await self._commit(batch, progressed=False)

    async def commit_prompt(self, text: str) -> None:
        batch = Batch()
        self._add_message(batch, Role.USER, batch.add_text(text))
        await self._commit(batch, progressed=False)

    async def commit_reply(self, reply: RepliedTurn) -> None:
        batch = Batch()
        interaction_id = new_id()
        thinking_id = self._add_stream(batch, TimelineType.LLM_THINKING, reply.thinking, interaction_id)
        text_id = self._add_stream(batch, TimelineType.LLM_RESPONSE, reply.text, interaction_id)
        batch.llm.append(self._interaction(reply, interaction_id, text_id, thinking_id))
        batch.tell(EventType.INTERACTION_CREATED, interaction_id)
        sequence = self._add_message(batch, Role.ASSISTANT, text_id, provider_state=reply.provider_state)
        for index, call in enumerate(reply.calls):
            self._add_call(batch, call, sequence=sequence, index=index)
        self.next_sequence += len(reply.calls)
        await self._commit(batch)
        self.last_text_id = text_id

    async def commit_failure(self, reply: RepliedTurn, *, error: str, code: str, will_retry: bool) -> None:
        batch = Batch()
        interaction_id = new_id()
        interrupted = TimelineStatus.INTERRUPTED
        thinking_id = self._add_stream(batch, TimelineType.LLM_THINKING, reply.thinking, interaction_id, interrupted)
        text_id = self._add_stream(batch, TimelineType.LLM_RESPONSE, reply.text, interaction_id, interrupted)
        batch.llm.append(self._interaction(reply, interaction_id, text_id, thinking_id, error=error))
        batch.tell(EventType.INTERACTION_CREATED, interaction_id)
        kind = TimelineType.PROVIDER_RETRY if will_retry else TimelineType.ERROR
        self._add_entry(batch, kind, batch.add_text(error), metadata={"code": code, "provider": self.provider})
        await self._commit(batch, progressed=False)

    def add_conclusion(self, batch: Batch, *, metadata: dict[str, Any]) -> None:
        """The final analysis, as one more reference to the text of the last reply."""
        self._add_entry(batch, TimelineType.FINAL_ANALYSIS, self.last_text_id, metadata=metadata)

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
        place = self._calls[cleared.call.call_id]
        server, _, tool = cleared.call.name.partition(".")
        interaction = McpInteraction(
            interaction_id=new_id(),
            server_name=server,
            tool_name=tool,
            call_id=cleared.call.call_id,
            duration_ms=int((boottime() - place.requested_at) * 1000),
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
        )
        batch.tell(EventType.INTERACTION_CREATED, interaction.interaction_id)
        await self._commit(batch)

    async def refuse(self, call: ToolCall, refusal: Refusal) -> ToolResult:
        batch = Batch()
        result = ToolResult(content=render_refusal(refusal), error=refusal.code)
        self._settle(batch, call, result, state=CallState.REFUSED, verdict={"refused": refusal.code})
        self._add_entry(
            batch,
            TimelineType.TOOL_REFUSED,
            batch.texts[-1].text_id,
            metadata={"code": refusal.code, "tool_name": call.name, "call_id": str(call.call_id)},
        )
        await self._commit(batch)
        return result

    async def settle_unknown(self, call: ToolCall, result: ToolResult) -> None:
        """A call that was in flight when its owner died. It is never sent again."""
        batch = Batch()
        self._settle(batch, call, result, state=CallState.UNKNOWN, verdict=None)
        await self._commit(batch)

    def _open(self, kind: TimelineType) -> LiveStream:
        stream = LiveStream(
            event_id=new_id(),
            session_id=self.run.session_id,
            stage_id=self.stage_id,
            execution_id=self.execution_id,
            event_type=kind,
        )
        self.run.flusher.open_stream(stream)
        return stream

    def _take_stream(self, kind: TimelineType) -> LiveStream | None:
        if kind is TimelineType.LLM_THINKING:
            stream, self._thinking = self._thinking, None
        else:
            stream, self._text = self._text, None
        if stream is not None:
            self.run.flusher.close_stream(stream)
        return stream

    def _add_stream(
        self,
        batch: Batch,
        kind: TimelineType,
        text: str,
        interaction_id: UUID,
        status: TimelineStatus = TimelineStatus.COMPLETED,
    ) -> UUID | None:
        stream = self._take_stream(kind)
        if not text:
            return None
        text_id = batch.add_text(text)
        event_id = new_id() if stream is None else stream.event_id
        told = batch.tell(EventType.TIMELINE_CREATED, event_id)
        batch.tell(EventType.TIMELINE_COMPLETED, event_id)
        batch.timeline.append(
            TimelineEvent(
                event_id=event_id,
                event_type=kind,
                status=status,
                text_id=text_id,
                told=told,
                llm_interaction_id=interaction_id,
            )
        )
        return text_id

    def _add_entry(
        self, batch: Batch, kind: TimelineType, text_id: UUID | None, *, metadata: dict[str, Any] | None = None
    ) -> None:
        event_id = new_id()
        told = batch.tell(EventType.TIMELINE_CREATED, event_id)
        batch.timeline.append(
            TimelineEvent(
                event_id=event_id,
                event_type=kind,
                status=TimelineStatus.COMPLETED,
                text_id=text_id,
                told=told,
                metadata=metadata,
            )
        )

    def _add_message(
        self, batch: Batch, role: Role, text_id: UUID | None, *, provider_state: bytes | None = None
    ) -> int:
        sequence = self.next_sequence
        self.next_sequence += 1
        batch.messages.append(
            StoredMessage(
                message_id=new_id(),
                sequence_number=sequence,
                role=role,
                text_id=text_id,
                provider_state=None if provider_state is None else provider_state.hex(),
            )
        )
        return sequence

    def _add_call(self, batch: Batch, call: ToolCall, *, sequence: int, index: int) -> None:
        event_id = new_id()
        told = batch.tell(EventType.TIMELINE_CREATED, event_id)
        batch.timeline.append(
            TimelineEvent(
                event_id=event_id,
                event_type=TimelineType.LLM_TOOL_CALL,
                status=TimelineStatus.STREAMING,
                text_id=None,
                told=told,
                call_id=call.call_id,
            )
        )
        batch.requested.append(
            RequestedCall(
                call_id=call.call_id,
                message_sequence=sequence,
                call_index=index,
                provider_call_id=call.provider_id,
                tool_name=call.name,
                arguments=call.arguments,
                event_id=event_id,
            )
        )
        self._calls[call.call_id] = _CallPlace(sequence + 1 + index, event_id, boottime())

    def _settle(
        self,
        batch: Batch,
        call: ToolCall,
        result: ToolResult,
        *,
        state: CallState,
        verdict: dict[str, Any] | None,
        interaction_id: UUID | None = None,
    ) -> None:
        place = self._calls[call.call_id]
        text_id = batch.add_text(result.content)
        batch.settled.append(
            SettledCall(
                call_id=call.call_id, state=state, result_text_id=text_id, error_code=result.error, verdict=verdict
            )
        )
        batch.messages.append(
            StoredMessage(
                message_id=new_id(),
                sequence_number=place.sequence_number,
                role=Role.TOOL,
                text_id=text_id,
                tool_call_id=call.provider_id,
                tool_name=call.name,
                is_error=result.is_error,
            )
        )
        batch.closed.append(
            ClosedEvent(
                event_id=place.event_id,
                status=_SHOWN_AS[state] if not result.is_error else TimelineStatus.FAILED,
                text_id=text_id,
                mcp_interaction_id=interaction_id,
            )
        )
        batch.tell(EventType.TIMELINE_COMPLETED, place.event_id)

    def _interaction(
        self,
        reply: RepliedTurn,
        interaction_id: UUID,
        text_id: UUID | None,
        thinking_id: UUID | None,
        *,
        error: str | None = None,
    ) -> LlmInteraction:
        return LlmInteraction(
            interaction_id=interaction_id,
            interaction_type=reply.interaction_type,
            llm_provider=self.provider,
            model_name=self.model,
            last_message_sequence=self.next_sequence - 1,
            llm_request={"iteration": reply.iteration, "messages_count": reply.messages_count},
            response_text_id=text_id,
            thinking_text_id=thinking_id,
            usage=reply.usage,
            duration_ms=reply.duration_ms,
            error_message=error,
        )

    async def _commit(self, batch: Batch, *, progressed: bool = True) -> None:
        await self.run.commit(batch, stage_id=self.stage_id, execution_id=self.execution_id, progressed=progressed)


_SHOWN_AS = {
    CallState.FINISHED: TimelineStatus.COMPLETED,
    CallState.REFUSED: TimelineStatus.FAILED,
    CallState.UNKNOWN: TimelineStatus.INTERRUPTED,
}


def _verdict(clearance: Clearance) -> dict[str, Any]:
    verdict: dict[str, Any] = {"kind": clearance.kind, "proven": clearance.proven, "rule": clearance.rule}
    return verdict if clearance.observed is None else verdict | {"observed": clearance.observed}


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
