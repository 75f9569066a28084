"""Going on where another owner stopped: say so, close what it left streaming, and settle what it left in flight."""

from midwatch.domain.timeline import EventType, TimelineStatus, TimelineType
from midwatch.domain.tools import CallState, ToolCall, ToolResult
from midwatch.store.driver import Row, Tx
from midwatch.store.feed import drop_session_live_texts, read_live_texts
from midwatch.store.journal import Batch, commit_batch
from midwatch.store.leases import Claim
from midwatch.store.runs import OpenCall
from midwatch.timeline.entries import add_entry, add_streamed
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

    async def write(tx: Tx) -> int:
        seq = 0
        for cut in await read_live_texts(tx, run.session_id):
            batch = _interrupted(cut)
            seq = await commit_batch(
                tx,
                run.fence,
                batch,
                stage_id=cut["stage_id"],
                execution_id=cut["execution_id"],
                progressed=False,
            )
        await drop_session_live_texts(tx, run.session_id)
        return max(seq, await _tell_resumed(tx, run, claim))

    await run.transact(write)


async def _tell_resumed(tx: Tx, run: RunLog, claim: Claim) -> int:
    batch = Batch()
    metadata = {"attempts": claim.attempts, "taken_over": claim.taken_over, "epoch": claim.fence.epoch}
    text_id = batch.add_text("The investigation goes on where it had stopped.")
    add_entry(batch, TimelineType.SESSION_RESUMED, text_id, metadata=metadata)
    batch.tell(EventType.SESSION_RESUMED, payload=metadata)
    return await commit_batch(tx, run.fence, batch, stage_id=None, execution_id=None, progressed=False)


def _interrupted(cut: Row) -> Batch:
    batch = Batch()
    kind = TimelineType(cut["event_type"])
    add_streamed(batch, kind, cut["content"], event_id=cut["event_id"], status=TimelineStatus.INTERRUPTED)
    return batch


async def settle_open_calls(recorder: ExecutionRecorder, calls: tuple[OpenCall, ...]) -> list[ToolCall]:
    """Calls to put through the gate again. One that was in flight is settled as unknown and never sent again."""
    again: list[ToolCall] = []
    for open_call in calls:
        recorder.adopt_call(open_call.call, sequence_number=open_call.sequence_number, event_id=open_call.event_id)
        if open_call.state is CallState.STARTED:
            await recorder.settle_unknown(open_call.call, _UNKNOWN)
        else:
            again.append(open_call.call)
    return again
