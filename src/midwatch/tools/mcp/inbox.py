"""What came in over HTTP and waits to be read by the SDK's session."""

import asyncio
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Self, final

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCMessage


@final
class Inbox:
    """For one reader. `on_close` is told when the reader has gone."""

    def __init__(self, *, on_close: Callable[[], None]) -> None:
        self._messages: deque[SessionMessage] = deque()
        self._reader: asyncio.Future[None] | None = None
        self._is_over = False
        self._on_close = on_close

    def put(self, message: JSONRPCMessage) -> None:
        self._messages.append(SessionMessage(message))
        self._wake()

    def end(self) -> None:
        """Nothing more will come: whoever waits for an answer is told so."""
        self._is_over = True
        self._wake()

    async def receive(self) -> SessionMessage:
        while not self._messages:
            if self._is_over:
                raise anyio.EndOfStream
            self._reader = asyncio.get_running_loop().create_future()
            await self._reader
        return self._messages.popleft()

    async def __anext__(self) -> SessionMessage:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    def __aiter__(self) -> Self:
        return self

    async def aclose(self) -> None:
        self.end()
        self._on_close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        await self.aclose()

    def _wake(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)
