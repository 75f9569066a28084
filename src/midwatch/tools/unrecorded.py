"""A call journal for looks that belong to no session and leave no trace."""

from collections.abc import Mapping
from typing import Any, final

from midwatch.domain.tools import CallNote, ClearedCall, Refusal, ToolCall, ToolResult
from midwatch.safety.refusals import render_refusal
from midwatch.tools.journal import NOTHING_JUDGED


@final
class Unrecorded:
    async def start(self, cleared: ClearedCall) -> Refusal | None:
        """Nothing is kept of it."""

    def check_dispatch(self, cleared: ClearedCall) -> None:
        """Nobody else could have taken over."""

    async def finish(self, cleared: ClearedCall, result: ToolResult, *, verified: tuple[str, ...] = ()) -> None:
        """Nothing is kept of it."""

    async def refuse(
        self,
        call: ToolCall,  # noqa: ARG002 - as the protocol has it
        refusal: Refusal,
        *,
        judged: Mapping[str, Any] = NOTHING_JUDGED,  # noqa: ARG002 - as the protocol has it
    ) -> ToolResult:
        return ToolResult(content=render_refusal(refusal), error=refusal.code)

    async def note_rewrite(self, call: ToolCall, refusal: Refusal) -> None:
        """Nothing is kept of it."""

    async def settle_unknown(self, call: ToolCall, result: ToolResult) -> None:
        """Nothing is kept of it."""

    def show_note(self, cleared: ClearedCall, note: CallNote) -> None:
        """Nobody watches."""
