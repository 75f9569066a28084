"""Records how one long result is summed up: what was asked and said, shown as it comes, and the answer the agent reads.

It keeps the promises that the loop's way of asking (`TurnJournal`) asks of a journal, but its conversation is its own:
nothing of it becomes a message of the agent's.
"""

from dataclasses import dataclass, field
from functools import partial
from typing import Any
from uuid import UUID

from midwatch.domain.timeline import EventType, InteractionType, Phase, TimelineStatus, TimelineType
from midwatch.domain.tools import ToolCall
from midwatch.kit.ids import new_id
from midwatch.store.journal import Batch, LlmInteraction
from midwatch.store.sessions import add_warnings
from midwatch.timeline.announce import ExecutionPlace, announce_phase
from midwatch.timeline.asides import Replacement
from midwatch.timeline.entries import add_answer, add_entry, add_streamed
from midwatch.timeline.flush import LiveStream
from midwatch.timeline.ledger import Ledger, SentRequest
from midwatch.timeline.replies import RepliedTurn
from midwatch.timeline.run import RunLog, Then, do_nothing
from midwatch.timeline.tallies import Tally


@dataclass(slots=True, kw_only=True)
class SummaryRecorder:
    run: RunLog
    stage_id: UUID
    execution_id: UUID
    call: ToolCall
    sequence: int
    """The place kept for the call's answer."""
    original_tokens: int
    tally: Tally = field(default_factory=Tally)
    provider: str = ""
    model: str = ""
    _stream: LiveStream | None = None
    _reply: RepliedTurn | None = None
    _ledger: Ledger = field(init=False)

    def __post_init__(self) -> None:
        self._ledger = self.run.open_ledger(
            stage_id=self.stage_id, execution_id=self.execution_id, call_id=self.call.call_id
        )

    def name_model(self, *, provider: str, model: str) -> None:
        """Who is asked."""
        self.provider, self.model = provider, model

    def show_phase(self, phase: Phase, message: str) -> None:  # noqa: ARG002 -- it is this one, whatever the asker is at
        place = ExecutionPlace(session_id=self.run.session_id, stage_id=self.stage_id, execution_id=self.execution_id)
        announce_phase(self.run.flusher, place, phase=Phase.DISTILLING, message=message)

    def stream_text(self, delta: str) -> None:
        if self._stream is None:
            self._stream = self._open()
        self.run.flusher.stream(self._stream, delta)

    def stream_thinking(self, delta: str) -> None:
        """Not shown: nobody follows the thoughts of whoever sums up."""

    def note_sent(self, sent: SentRequest) -> None:
        self._ledger.note(sent)

    async def commit_reply(self, reply: RepliedTurn) -> None:
        """Committed with the answer that is made of it."""
        self._reply = reply

    async def commit_failure(self, reply: RepliedTurn, *, error: str, code: str, will_retry: bool) -> None:
        batch = Batch()
        self._add_reply(batch, reply, TimelineStatus.INTERRUPTED, error=error)
        if will_retry:
            metadata = {"code": code, "provider": reply.provider}
            add_entry(batch, TimelineType.PROVIDER_RETRY, batch.add_text(error), metadata=metadata)
        await self._commit(batch, progressed=False, then=partial(self.tally.count_failed_reply, reply, code=code))

    async def commit_fallback(self, fallback: Replacement) -> None:
        """For this summary alone: the agent stays with its provider."""
        self.name_model(provider=fallback.to_provider, model=fallback.to_model)
        told = f"{fallback.from_provider} gave way to {fallback.to_provider} for a summary: {fallback.reason}"
        await self.commit_notice(told, code=fallback.code)
        self.tally.count_fallback(fallback)

    async def commit_notice(self, text: str, *, code: str) -> None:
        batch = Batch()
        add_entry(batch, TimelineType.PROVIDER_RETRY, batch.add_text(text), metadata={"code": code})
        await self._commit(batch, progressed=False)

    async def commit_warning(self, text: str) -> None:
        await self.run.transact(partial(add_warnings, fence=self.run.fence, warnings=[text]))

    async def commit_prompt(self, text: str) -> None:
        """Said to whoever sums up, and to nobody else; the ledger has it."""

    async def commit_summary(self, content: str) -> None:
        """The reply, and the answer that the agent reads."""
        batch = Batch()
        if self._reply is not None:
            self._add_reply(batch, self._reply, TimelineStatus.COMPLETED)
        await self._commit_answer(batch, content)

    async def commit_unsummarised(self, content: str, *, reason: str) -> None:
        """There is no summary; what the agent reads instead."""
        batch = Batch()
        if self._reply is not None:
            self._add_reply(batch, self._reply, TimelineStatus.INTERRUPTED)
        event_id, kind = self._close(), TimelineType.MCP_TOOL_SUMMARY
        add_streamed(batch, kind, reason, event_id=event_id, status=TimelineStatus.FAILED, metadata=self._describe())
        await self._commit_answer(batch, content)

    async def _commit_answer(self, batch: Batch, content: str) -> None:
        add_answer(batch, self.call, batch.add_text(content), sequence=self.sequence)
        await self._commit(
            batch, then=do_nothing if self._reply is None else partial(self.tally.count_reply, self._reply)
        )
        self.run.close_ledger(stage_id=self.stage_id, execution_id=self.execution_id, call_id=self.call.call_id)

    def _add_reply(self, batch: Batch, reply: RepliedTurn, status: TimelineStatus, *, error: str | None = None) -> None:
        interaction_id = new_id()
        text_id = add_streamed(
            batch,
            TimelineType.MCP_TOOL_SUMMARY,
            reply.text,
            event_id=self._close(),
            status=status,
            interaction_id=interaction_id,
            metadata=self._describe(),
        )
        batch.llm.append(
            LlmInteraction(
                interaction_id=interaction_id,
                interaction_type=InteractionType.SUMMARIZATION,
                llm_provider=reply.provider,
                model_name=reply.model,
                # Its conversation is none of the agent's messages.
                last_message_sequence=None,
                llm_request={"messages_count": reply.messages_count, "call_id": str(self.call.call_id)}
                | self._describe(),
                response_text_id=text_id,
                thinking_text_id=batch.add_text(reply.thinking) if reply.thinking else None,
                usage=reply.usage,
                estimated_cost_usd=reply.cost_usd,
                duration_ms=reply.duration_ms,
                error_message=error,
            )
        )
        batch.outbound += self._ledger.take(interaction_id)
        batch.tell(EventType.INTERACTION_CREATED, interaction_id)

    def _describe(self) -> dict[str, Any]:
        server, _, tool = self.call.name.partition(".")
        return {
            "server_name": server,
            "tool_name": tool,
            "original_tokens": self.original_tokens,
            "summarization_model": self.model,
            "summarization_provider": self.provider,
        }

    def _open(self) -> LiveStream:
        stream = LiveStream(
            event_id=new_id(),
            session_id=self.run.session_id,
            stage_id=self.stage_id,
            execution_id=self.execution_id,
            event_type=TimelineType.MCP_TOOL_SUMMARY,
            epoch=self.run.fence.epoch,
            sequence_number=self.run.position + 1,
            metadata=self._describe(),
        )
        self.run.flusher.open_stream(stream)
        return stream

    def _close(self) -> UUID:
        """The id under which watchers have seen the stream, if there was one."""
        stream, self._stream = self._stream, None
        if stream is None:
            return new_id()
        self.run.flusher.close_stream(stream)
        return stream.event_id

    async def _commit(self, batch: Batch, *, progressed: bool = True, then: Then = do_nothing) -> None:
        await self.run.commit(
            batch, stage_id=self.stage_id, execution_id=self.execution_id, progressed=progressed, then=then
        )
