"""Questions to a person as a run asks them: in one commit with the call that waits, and told after it.

It keeps the promises that `tools.consent` asks of a journal.
"""

from dataclasses import dataclass, field
from uuid import UUID

from midwatch.domain.errors import LeaseLost
from midwatch.domain.timeline import EventType, TimelineType
from midwatch.domain.tools import ToolCall
from midwatch.kit.ids import new_id
from midwatch.safety.questions import AskedCall, NewApproval
from midwatch.store.approvals import find_asked, insert_approval
from midwatch.store.driver import Tx
from midwatch.store.journal import Batch, commit_batch
from midwatch.timeline.announce import announce_approval
from midwatch.timeline.entries import add_entry
from midwatch.timeline.record import ExecutionRecorder


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRecorder:
    recorder: ExecutionRecorder
    waited: frozenset[UUID] = field(default_factory=frozenset[UUID])
    """Calls that were waiting for a person when this run took them up."""

    def has_waited(self, call_id: UUID) -> bool:
        return call_id in self.waited

    async def find(self, call_id: UUID) -> AskedCall:
        async with self.recorder.run.store.connect() as tx:
            asked = await find_asked(tx, call_id)
        if asked is None:
            raise LeaseLost(f"call {call_id} is not in the journal")
        return asked

    async def request(self, new: NewApproval) -> None:
        run = self.recorder.run
        # Made once: tried again after a lost answer, the same rows are found to be there.
        batch = _tell(new, execution_id=self.recorder.execution_id)

        async def write(tx: Tx) -> int:
            await insert_approval(tx, run.fence, new)
            return await commit_batch(
                tx, run.fence, batch, stage_id=self.recorder.stage_id, execution_id=self.recorder.execution_id
            )

        await run.transact(write)
        announce_approval(run.flusher, run.session_id, batch.events[-1])

    def open_look(self, tool: str, arguments: str) -> ToolCall:
        """A call that code asks for: recorded, and read by no model."""
        call = ToolCall(call_id=new_id(), provider_id="", name=tool, arguments=arguments, is_own=True)
        self.recorder.expect_look(call)
        return call


def _tell(new: NewApproval, *, execution_id: UUID) -> Batch:
    batch = Batch()
    request = new.request
    facts = {
        "approval_id": request["approval_id"],
        "call_id": request["call_id"],
        "execution_id": str(execution_id),
        "server_name": request["server_name"],
        "tool_name": request["tool_name"],
        "risk": request["risk"],
        "expires_at": request["expires_at"],
    }
    add_entry(
        batch,
        TimelineType.APPROVAL_REQUESTED,
        None,
        metadata=facts | {"rule": new.verdict.get("policy_rule"), "reason": new.verdict.get("policy_reason")},
    )
    batch.tell(EventType.APPROVAL_REQUESTED, payload=facts)
    return batch
