"""Going on where another owner stopped: say so, close what it left streaming, and settle what it left in flight."""

from dataclasses import asdict

from midwatch.domain.messages import ToolMessage
from midwatch.domain.timeline import EventType, TimelineStatus, TimelineType
from midwatch.domain.tools import CallState, ToolCall, ToolResult
from midwatch.store.driver import Row, Tx
from midwatch.store.feed import drop_session_live_texts, read_live_texts
from midwatch.store.fence import pass_fence
from midwatch.store.journal import Batch, commit_batch
from midwatch.store.leases import Claim
from midwatch.store.runs import OpenCall
from midwatch.timeline.entries import add_entry, add_streamed
from midwatch.timeline.flush import LiveStream
from midwatch.timeline.record import ExecutionRecorder
from midwatch.timeline.run import RunLog

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
        return await commit_batch(tx, run.fence, resumed, stage_id=None, execution_id=None, progressed=False)

    await run.transact(write)


async def close_cut_streams(run: RunLog) -> None:
    """Before a session ends early: what its model was saying, to this owner or to one that died, is told to be over."""
    own = {stream.event_id: stream for stream in run.flusher.cut_streams(run.session_id)}

    async def write(tx: Tx) -> int:
        left = await read_live_texts(tx, run.session_id)
        for cut in [*map(_as_kept, own.values()), *(row for row in left if row["event_id"] not in own)]:
            await _close_cut(tx, run, cut)
        return await pass_fence(tx, run.fence, ())

    await run.transact(write)


def _as_kept(stream: LiveStream) -> Row:
    return {**asdict(stream), "content": "".join(stream.parts)}


async def _close_cut(tx: Tx, run: RunLog, cut: Row) -> None:
    batch = Batch()
    kind = TimelineType(cut["event_type"])
    add_streamed(batch, kind, cut["content"], event_id=cut["event_id"], status=TimelineStatus.INTERRUPTED)
    await commit_batch(
        tx, run.fence, batch, stage_id=cut["stage_id"], execution_id=cut["execution_id"], progressed=False
    )


def _resumed(claim: Claim) -> Batch:
    batch = Batch()
    metadata = {"attempts": claim.attempts, "taken_over": claim.taken_over, "epoch": claim.fence.epoch}
    text_id = batch.add_text("The investigation goes on where it had stopped.")
    add_entry(batch, TimelineType.SESSION_RESUMED, text_id, metadata=metadata)
    batch.tell(EventType.SESSION_RESUMED, payload=metadata)
    return batch


async def settle_open_calls(
    recorder: ExecutionRecorder, calls: tuple[OpenCall, ...]
) -> tuple[list[ToolCall], list[ToolMessage]]:
    """Calls to put through the gate again, and answers to those that were in flight, which are never sent again."""
    again: list[ToolCall] = []
    unknown: list[ToolMessage] = []
    for open_call in calls:
        recorder.adopt_call(open_call.call, sequence_number=open_call.sequence_number, event_id=open_call.event_id)
        if open_call.state is CallState.STARTED:
            await recorder.settle_unknown(open_call.call, _UNKNOWN)
            unknown.append(_unknown_answer(open_call.call))
        else:
            again.append(open_call.call)
    return again, unknown


def _unknown_answer(call: ToolCall) -> ToolMessage:
    return ToolMessage(provider_id=call.provider_id, name=call.name, content=_UNKNOWN.content, is_error=True)
