"""A call journal in memory. Keeps one ordered log, so that tests can tell what came before what."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from uuid import UUID

from midwatch.domain.errors import MidwatchError
from midwatch.domain.tools import CallNote, ClearedCall, Refusal, ToolCall, ToolResult
from midwatch.safety.machine import RecordedCall
from midwatch.safety.refusals import render_refusal
from midwatch.tools.journal import NOTHING_JUDGED


class FakeCallJournal:
    def __init__(self) -> None:
        self.log: list[str] = []
        """`start NAME`, `dispatch NAME`, `finish NAME`, `refuse NAME CODE`, `unknown NAME`, `rewrite NAME CODE`, and
        what fake tools add."""
        self.started: list[ClearedCall] = []
        self.finished: list[tuple[ClearedCall, ToolResult]] = []
        self.refused: list[tuple[ToolCall, Refusal]] = []
        self.unknown: list[tuple[ToolCall, ToolResult]] = []
        self.records: dict[UUID, RecordedCall] = {}
        """What whoever takes over would read of the calls that came to an end."""
        self.judged: list[dict[str, Any]] = []
        """What each refused call was taken for."""
        self.rewritten: list[tuple[ToolCall, Refusal]] = []
        self.notes: list[CallNote] = []
        self.start_refusal: Refusal | None = None
        self.on_start: Callable[[ClearedCall], Awaitable[Refusal | None]] | None = None
        self.dispatch_failure: MidwatchError | None = None

    async def start(self, cleared: ClearedCall) -> Refusal | None:
        if self.start_refusal is not None:
            return self.start_refusal
        if self.on_start is not None:
            return await self.on_start(cleared)
        self.log.append(f"start {cleared.call.name}")
        self.started.append(cleared)
        return None

    def check_dispatch(self, cleared: ClearedCall) -> None:
        if self.dispatch_failure is not None:
            raise self.dispatch_failure
        self.log.append(f"dispatch {cleared.call.name}")

    async def finish(self, cleared: ClearedCall, result: ToolResult, *, verified: tuple[str, ...] = ()) -> None:
        self.log.append(f"finish {cleared.call.name}")
        self.finished.append((cleared, result))
        ticket = cleared.clearance.ticket
        if ticket is not None:
            self.records[cleared.call.call_id] = RecordedCall(
                kind=ticket.kind, targets=ticket.targets, began=ticket.began, verified=verified, owner=ticket.owner
            )

    async def refuse(
        self, call: ToolCall, refusal: Refusal, *, judged: Mapping[str, Any] = NOTHING_JUDGED
    ) -> ToolResult:
        self.log.append(f"refuse {call.name} {refusal.code}")
        self.refused.append((call, refusal))
        self.judged.append(dict(judged))
        return ToolResult(content=render_refusal(refusal), error=refusal.code)

    async def note_rewrite(self, call: ToolCall, refusal: Refusal) -> None:
        self.log.append(f"rewrite {call.name} {refusal.code}")
        self.rewritten.append((call, refusal))

    async def settle_unknown(self, call: ToolCall, result: ToolResult) -> None:
        self.log.append(f"unknown {call.name}")
        self.unknown.append((call, result))

    def show_note(self, cleared: ClearedCall, note: CallNote) -> None:  # noqa: ARG002 - one call at a time
        self.notes.append(note)
