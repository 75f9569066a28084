"""A call journal in memory. Keeps one ordered log, so that tests can tell what came before what."""

from midwatch.domain.errors import MidwatchError
from midwatch.domain.tools import CallNote, ClearedCall, Refusal, ToolCall, ToolResult
from midwatch.safety.refusals import render_refusal


class FakeCallJournal:
    def __init__(self) -> None:
        self.log: list[str] = []
        """`start NAME`, `dispatch NAME`, `finish NAME`, `refuse NAME CODE`, `unknown NAME`, and what fake tools add."""
        self.started: list[ClearedCall] = []
        self.finished: list[tuple[ClearedCall, ToolResult]] = []
        self.refused: list[tuple[ToolCall, Refusal]] = []
        self.unknown: list[tuple[ToolCall, ToolResult]] = []
        self.notes: list[CallNote] = []
        self.start_refusal: Refusal | None = None
        self.dispatch_failure: MidwatchError | None = None

    async def start(self, cleared: ClearedCall) -> Refusal | None:
        if self.start_refusal is not None:
            return self.start_refusal
        self.log.append(f"start {cleared.call.name}")
        self.started.append(cleared)
        return None

    def check_dispatch(self, cleared: ClearedCall) -> None:
        if self.dispatch_failure is not None:
            raise self.dispatch_failure
        self.log.append(f"dispatch {cleared.call.name}")

    async def finish(self, cleared: ClearedCall, result: ToolResult) -> None:
        self.log.append(f"finish {cleared.call.name}")
        self.finished.append((cleared, result))

    async def refuse(self, call: ToolCall, refusal: Refusal) -> ToolResult:
        self.log.append(f"refuse {call.name} {refusal.code}")
        self.refused.append((call, refusal))
        return ToolResult(content=render_refusal(refusal), error=refusal.code)

    async def settle_unknown(self, call: ToolCall, result: ToolResult) -> None:
        self.log.append(f"unknown {call.name}")
        self.unknown.append((call, result))

    def show_note(self, cleared: ClearedCall, note: CallNote) -> None:  # noqa: ARG002 - one call at a time
        self.notes.append(note)
