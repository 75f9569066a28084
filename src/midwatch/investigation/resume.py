"""Going on where another owner stopped: say so, close what it left streaming, and settle what it left in flight."""

import asyncio
from collections.abc import Sequence
from dataclasses import asdict

from midwatch.domain.errors import StoreUnavailable
from midwatch.domain.messages import ToolMessage
from midwatch.domain.session import SessionStatus, WorkStatus
from midwatch.domain.timeline import EventType, TimelineStatus, TimelineType
from midwatch.domain.tools import CallState, ToolCall, ToolResult
from midwatch.store.driver import Row, Tx
from midwatch.store.feed import drop_session_live_texts, read_live_texts
from midwatch.store.fence import pass_fence
from midwatch.store.journal import Batch, commit_batch
from midwatch.store.leases import Claim
from midwatch.store.results import read_result
from midwatch.store.runs import OpenCall, OpenExecution
from midwatch.store.sessions import OPEN_WORK_ENDS_AS
from midwatch.timeline.announce import ExecutionPlace, announce_execution
from midwatch.timeline.entries import add_entry, add_streamed
from midwatch.timeline.flush import LiveStream
from midwatch.timeline.record import ExecutionRecorder
from midwatch.timeline.run import RunLog
from midwatch.tools.summarised import Digest

_UNKNOWN = ToolResult(
    content=(
        "Outcome unknown: the worker that sent this call stopped before the answer came. It may or may not have taken "
        "effect, and it was not sent again. Read the target before you change anything."
    ),
    error="OUTCOME_UNKNOWN",
)


async def announce_resume(run: RunLog, claim: Claim) -> None:
    """One entry in the timeline, and an end for each stream that was cut."""
    # Made once: tried again after a lost answer, the same rows are found to be there.
    resumed = _resumed(claim)

    async def write(tx: Tx) -> int:
        for cut in await read_live_texts(tx, run.session_id):
            await _close_cut(tx, run, cut)
        await drop_session_live_texts(tx, run.session_id)
        return await commit_batch(
            tx, run.fence, resumed, stage_id=claim.chat_stage_id, execution_id=None, progressed=False
        )

    await run.transact(write)


def show_cut_as(status: SessionStatus | WorkStatus) -> TimelineStatus:
    """How what a model was saying is shown, when its work ended in this way."""
    match status:
        case SessionStatus.CANCELLED | WorkStatus.CANCELLED:
            return TimelineStatus.CANCELLED
        case SessionStatus.TIMED_OUT | WorkStatus.TIMED_OUT:
            return TimelineStatus.TIMED_OUT
        case _:
            return TimelineStatus.INTERRUPTED


def announce_cut(run: RunLog, status: SessionStatus, cut: Sequence[OpenExecution]) -> None:
    """After a run has ended so: watchers hear of the agents that were still at work."""
    for execution in cut:
        place = ExecutionPlace(
            session_id=run.session_id, stage_id=execution.stage_id, execution_id=execution.execution_id
        )
        announce_execution(run.flusher, place, agent_index=execution.agent_index, status=OPEN_WORK_ENDS_AS[status])


async def close_cut_streams(run: RunLog, status: SessionStatus | WorkStatus) -> None:
    """Before a run ends early: what its model was saying, to this owner or to one that died, is told to be over."""
    shown_as = show_cut_as(status)
    own = {stream.event_id: stream for stream in run.flusher.cut_streams(run.session_id)}

    async def write(tx: Tx) -> int:
        left = await read_live_texts(tx, run.session_id)
        for cut in [*map(_as_kept, own.values()), *(row for row in left if row["event_id"] not in own)]:
            await _close_cut(tx, run, cut, status=shown_as)
        return await pass_fence(tx, run.fence, ())

    await run.transact(write)


def _as_kept(stream: LiveStream) -> Row:
    return {**asdict(stream), "content": "".join(stream.parts)}


async def _close_cut(tx: Tx, run: RunLog, cut: Row, *, status: TimelineStatus = TimelineStatus.INTERRUPTED) -> None:
    batch = Batch()
    kind = TimelineType(cut["event_type"])
    add_streamed(batch, kind, cut["content"], event_id=cut["event_id"], status=status)
    await commit_batch(
        tx, run.fence, batch, stage_id=cut["stage_id"], execution_id=cut["execution_id"], progressed=False
    )


def _resumed(claim: Claim) -> Batch:
    batch = Batch()
    metadata = {"attempts": claim.attempts, "taken_over": claim.taken_over, "epoch": claim.fence.epoch}
    what = "investigation" if claim.chat_stage_id is None else "answer"
    text_id = batch.add_text(f"The {what} goes on where it had stopped.")
    add_entry(batch, TimelineType.SESSION_RESUMED, text_id, metadata=metadata)
    batch.tell(EventType.SESSION_RESUMED, payload=metadata)
    return batch


async def settle_open_calls(
    recorder: ExecutionRecorder, calls: tuple[OpenCall, ...], *, digest: Digest
) -> tuple[list[ToolCall], list[ToolMessage]]:
    """Calls to put through the gate again, and answers to those that are never sent again.

    One that was in flight has an unknown outcome. One whose result is stored was to be summed up, which is done now.
    """
    again: list[ToolCall] = []
    answers: list[ToolMessage] = []
    for open_call in calls:
        call = open_call.call
        recorder.adopt_call(call, sequence_number=open_call.sequence_number, event_id=open_call.event_id)
        match open_call.state:
            case CallState.STARTED:
                await recorder.settle_unknown(call, _UNKNOWN)
                answers.append(_answer(call, _UNKNOWN))
            case CallState.FINISHED:
                answers.append(_answer(call, await digest(call, await _read_stored(recorder, call))))
            case _:
                again.append(call)
    return again, answers


async def _read_stored(recorder: ExecutionRecorder, call: ToolCall) -> ToolResult:
    async with recorder.run.store.connect() as tx:
        stored = await read_result(tx, recorder.run.session_id, call.call_id)
    if stored is None:
        raise StoreUnavailable(f"the result of call {call.call_id} cannot be read")
    whole = await asyncio.to_thread(stored.unpack)
    return ToolResult(content=stored.shown, error=stored.error, whole=whole, awaits_summary=True)


def _answer(call: ToolCall, result: ToolResult) -> ToolMessage:
    return ToolMessage(provider_id=call.provider_id, name=call.name, content=result.content, is_error=result.is_error)
