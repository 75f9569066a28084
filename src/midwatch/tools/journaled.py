"""Commits around each call: *started* before a change leaves, *finished* with the masked result before anyone reads it.

A run that is cancelled leaves its calls as they were journalled; whoever resumes the session decides what that means.
A call that a person cancels has a result like any other, and the run goes on.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, final

from midwatch.domain.tools import Clearance, ClearedCall, Refusal, ToolDefinition, ToolKind, ToolResult
from midwatch.safety.machine import Outcome, name_outcome
from midwatch.safety.session import SessionSafety
from midwatch.tools.dispatch import guarded
from midwatch.tools.failure import FailureCode
from midwatch.tools.inflight import CallCancelled, CallsInFlight
from midwatch.tools.journal import CallJournal
from midwatch.tools.toolset import Toolset

_NOT_SENT = Refusal(
    code=FailureCode.CANCELLED_BY_PERSON,
    reason="a person cancelled this call before it was sent",
    hint="Do not call it again. Go on with what you have, and say in your analysis what is missing for it.",
)
_ENDED = "A person cancelled this call before its answer came. Do not call it again; go on with what you have."
_IN_DOUBT = "Whether the change was made is unknown: read the target before you change anything."


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Journaled:
    inner: Toolset
    journal: CallJournal
    calls: CallsInFlight = field(default_factory=CallsInFlight)
    safety: SessionSafety = field(default_factory=SessionSafety)
    """Is told what became of each call, since only here it is known whether something was sent."""

    async def list_tools(self) -> Sequence[ToolDefinition]:
        return await self.inner.list_tools()

    async def call(self, cleared: ClearedCall) -> ToolResult:
        if self.calls.is_cancelled(cleared.call.call_id):
            return await self._refuse(cleared, _NOT_SENT)
        if not _may_run_again(cleared.clearance):
            refusal = await self.journal.start(cleared)
            if refusal is not None:
                return await self._refuse(cleared, refusal)
        try:
            async with self.calls.cancellable(cleared.call.call_id):
                with guarded(lambda: self.journal.check_dispatch(cleared)):
                    result = await self.inner.call(cleared)
        except CallCancelled:
            return await self._give_up(cleared)
        verified = self._end(cleared.clearance, name_outcome(result.error))
        await self.journal.finish(cleared, result, verified=verified)
        return result

    async def _refuse(self, cleared: ClearedCall, refusal: Refusal) -> ToolResult:
        self._end(cleared.clearance, Outcome.NOT_SENT)
        return await self.journal.refuse(cleared.call, refusal, judged=_describe(cleared.clearance, refusal))

    async def _give_up(self, cleared: ClearedCall) -> ToolResult:
        if _may_run_again(cleared.clearance):
            self._end(cleared.clearance, Outcome.FAILED)
            result = ToolResult(content=_ENDED, error=FailureCode.CANCELLED_BY_PERSON)
            await self.journal.finish(cleared, result)
        else:
            self._end(cleared.clearance, Outcome.UNKNOWN)
            result = ToolResult(content=f"{_ENDED} {_IN_DOUBT}", error=FailureCode.CANCELLED_BY_PERSON)
            await self.journal.settle_unknown(cleared.call, result)
        return result

    def _end(self, clearance: Clearance, outcome: Outcome) -> tuple[str, ...]:
        """The targets that were verified by the call."""
        ticket = clearance.ticket
        return () if ticket is None else self.safety.end(ticket, outcome, held_for=clearance.timeout)


def _may_run_again(clearance: Clearance) -> bool:
    """An interrupted read runs again on resume, but not on a server's mere word that it is one.

    Nor on a person's yes, which is good for one time.
    """
    is_look = clearance.proven and clearance.kind in (ToolKind.READ, ToolKind.RESOLVE)
    return is_look and clearance.approval_id is None


def _describe(clearance: Clearance, refusal: Refusal) -> dict[str, Any]:
    facts = {"kind": clearance.kind, "rule": clearance.rule, "risk": clearance.risk}
    return {name: fact for name, fact in facts.items() if fact is not None} | {"policy_rule": f"journal:{refusal.code}"}
