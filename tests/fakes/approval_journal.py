"""Questions to a person, in memory, at a time that stands still until a test moves it."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

from midwatch.domain.tools import ToolCall
from midwatch.kit.ids import new_id
from midwatch.safety.approvals import Approval, decide
from midwatch.safety.questions import AskedCall, NewApproval

WORDS = "The pump is stuck."


class FakeApprovalJournal:
    def __init__(self) -> None:
        self.now = datetime(2026, 3, 1, 2, 30, tzinfo=UTC)
        self.waited: set[UUID] = set()
        self.requested: list[NewApproval] = []
        self.approvals: dict[UUID, Approval] = {}
        """By the call they are about."""
        self.looks: list[ToolCall] = []

    def has_waited(self, call_id: UUID) -> bool:
        return call_id in self.waited

    async def find(self, call_id: UUID) -> AskedCall:
        targets = [each for new in self.requested if new.approval.call_id == call_id for each in new.targets]
        return AskedCall(now=self.now, models_words=WORDS, approval=self.approvals.get(call_id), targets=tuple(targets))

    async def request(self, new: NewApproval) -> None:
        self.requested.append(new)
        self.approvals[new.approval.call_id] = new.approval

    def open_look(self, tool: str, arguments: str) -> ToolCall:
        self.looks.append(ToolCall(call_id=new_id(), provider_id="", name=tool, arguments=arguments, is_own=True))
        return self.looks[-1]

    def answer(self, call_id: UUID, *, yes: bool) -> None:
        decided = decide(self.approvals[call_id], is_approved=yes, by="ana", now=self.now, reason="so it is")
        assert isinstance(decided, Approval)
        self.approvals[call_id] = decided

    def pass_time(self, time: timedelta) -> None:
        self.now += time
