"""What a server says on its own on one session: that its tools are others now, how a call fares, lines of its log."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from mcp_types import LoggingMessageNotificationParams, ToolListChangedNotification

from midwatch.domain.tools import CallNote
from midwatch.kit.json import clean_text, encode_text
from midwatch.tools.notes import Hear, current_ear


class ProgressHeard(Protocol):
    async def __call__(self, progress: float, total: float | None, message: str | None) -> None: ...


@dataclass(slots=True)
class Chatter:
    is_stale: bool = False
    """The server has said that its tools have changed since they were listed."""
    _ears: list[Hear] = field(default_factory=list[Hear])

    async def hear_message(self, message: object) -> None:
        if isinstance(message, ToolListChangedNotification):
            self.is_stale = True

    async def hear_log(self, params: LoggingMessageNotificationParams) -> None:
        """Goes to the call it can only be about. A session may serve several, and a line does not say which."""
        if len(self._ears) == 1:
            self._ears[0](CallNote(message=_as_text(params.data), level=params.level))

    @contextmanager
    def attended(self) -> Generator[ProgressHeard | None]:
        """While a call runs: what the server says of it reaches whoever listens to the call."""
        hear = current_ear()
        if hear is None:
            yield None
            return
        self._ears.append(hear)
        try:
            yield _pass_on(hear)
        finally:
            self._ears.remove(hear)


def _pass_on(hear: Hear) -> ProgressHeard:
    async def heard(progress: float, total: float | None, message: str | None) -> None:
        hear(CallNote(message=clean_text(message or ""), progress=progress, total=total))

    return heard


def _as_text(data: Any) -> str:
    return clean_text(data) if isinstance(data, str) else encode_text(data)
