"""What the tools room needs of a journal. The recorder of `timeline` keeps these promises; tests use one in memory."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Protocol

from midwatch.domain.tools import CallNote, ClearedCall, Refusal, ToolCall, ToolResult

NOTHING_JUDGED: Mapping[str, Any] = MappingProxyType({})


class CallJournal(Protocol):
    async def start(self, cleared: ClearedCall) -> Refusal | None:
        """Commits a write as started before it is dispatched.

        A refusal means that nothing was started: its target is being changed by someone else, or everything is
        stopped. Raises LeaseLost.
        """
        ...

    def check_dispatch(self, cleared: ClearedCall) -> None:
        """Raises LeaseLost, or DispatchTooLate when the call's deadline has passed by the machine's own clock.

        Called with no await between it and the bytes leaving.
        """
        ...

    async def finish(self, cleared: ClearedCall, result: ToolResult, *, verified: tuple[str, ...] = ()) -> None:
        """Commits the masked result before anybody reads it, trying until it is stored or LeaseLost is raised.

        `verified` are the targets whose last change this call has shown.
        """
        ...

    async def refuse(
        self, call: ToolCall, refusal: Refusal, *, judged: Mapping[str, Any] = NOTHING_JUDGED
    ) -> ToolResult:
        """Commits the refusal and returns it as the result the model reads. Raises LeaseLost.

        `judged` is what the call was taken for, as far as it came to that.
        """
        ...

    async def note_rewrite(self, call: ToolCall, refusal: Refusal) -> None:
        """Commits that the call is not sent as it was written, but in another way. Raises LeaseLost."""
        ...

    async def settle_unknown(self, call: ToolCall, result: ToolResult) -> None:
        """Commits that nobody knows what became of a call that was sent. Its targets stay closed until its deadline."""
        ...

    def show_note(self, cleared: ClearedCall, note: CallNote) -> None:
        """Shows what the server says while it works, to whoever watches. Nothing is stored."""
        ...
