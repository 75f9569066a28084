"""What the SDK's session writes to when messages leave over HTTP."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Self, final

from mcp.shared.message import SessionMessage

from midwatch.tools.mcp.http_client import HttpClient
from midwatch.tools.mcp.losses import AnswerRefused

_NOTICE_SECONDS = 5.0
_SMALL = 65_536
_NO_SUCCESS = 300


@final
@dataclass(frozen=True, slots=True)
class Outbox:
    _send: Callable[[SessionMessage], Awaitable[None]]

    async def send(self, item: SessionMessage, /) -> None:
        await self._send(item)

    async def aclose(self) -> None:
        """The connections are closed by whoever opened the link."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        await self.aclose()


async def send_notice(client: HttpClient, url: str, body: bytes, *, headers: Mapping[str, str]) -> None:
    """A message without an answer. Raises ConnectionLost, AnswerRefused or TimeoutError."""
    async with asyncio.timeout(_NOTICE_SECONDS), client.request("POST", url, headers=headers, body=body) as answer:
        if answer.status >= _NO_SUCCESS:
            raise AnswerRefused(f"it answered with HTTP status {answer.status}")
        # Without its end the connection could not be used again.
        await answer.read(_SMALL)
