"""MCP over a child's pipes: a message is written by the task that sends it, and a tool call asks its guard first."""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Self, final

import anyio
import structlog
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCRequest

from midwatch.kit.users import User
from midwatch.tools.dispatch import check_dispatch
from midwatch.tools.mcp.child import Child, ChildGone, start_child
from midwatch.tools.mcp.losses import ConnectionLost
from midwatch.tools.mcp.messages import encode_message, read_message

log = structlog.get_logger()


@final
class StdioLink:
    """A running server's pair of streams. The SDK's session reads `incoming` and writes `outgoing`."""

    def __init__(self, child: Child, *, server_id: str, on_over: Callable[[], None]) -> None:
        self.is_over = False
        """Nothing more will come in: every waiting call has failed or is about to."""
        self.incoming = _Incoming(child, server_id=server_id, on_over=self._end)
        self.outgoing = _Outgoing(child, on_over=self._end)
        self._child = child
        self._on_over = on_over

    @property
    def failure(self) -> str | None:
        """Why we stopped listening to the server, when it did not end by itself."""
        return self._child.failure

    def _end(self) -> None:
        self.is_over = True
        self._on_over()


@asynccontextmanager
async def open_stdio(
    command: Sequence[str],
    *,
    environment: Mapping[str, str],
    server_id: str,
    on_over: Callable[[], None],
    user: User | None = None,
) -> AsyncGenerator[StdioLink]:
    """Starts the server, and stops it and all it started at the end. Raises OSError or ValueError if it cannot start.

    `on_over` is told, perhaps more than once, that nothing more will come in.
    """
    child = await start_child(command, environment=environment, user=user)
    try:
        yield StdioLink(child, server_id=server_id, on_over=on_over)
    finally:
        await child.stop()


@final
class _Incoming:
    def __init__(self, child: Child, *, server_id: str, on_over: Callable[[], None]) -> None:
        self._child = child
        self._on_over = on_over
        self._log = log.bind(server=server_id)
        self._has_warned = False

    async def receive(self) -> SessionMessage:
        while (line := await self._child.read_line()) is not None:
            if (message := read_message(line)) is not None:
                return SessionMessage(message)
            self._warn_once(line)
        self._on_over()
        raise anyio.EndOfStream

    async def __anext__(self) -> SessionMessage:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    def __aiter__(self) -> Self:
        return self

    async def aclose(self) -> None:
        self._on_over()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        await self.aclose()

    def _warn_once(self, line: bytearray) -> None:
        if line.strip() and not self._has_warned:
            self._has_warned = True
            self._log.warning("tool_server_line_ignored", bytes=len(line))


@final
class _Outgoing:
    def __init__(self, child: Child, *, on_over: Callable[[], None]) -> None:
        self._child = child
        self._on_over = on_over

    async def send(self, item: SessionMessage, /) -> None:
        """Raises ConnectionLost for a request that could not be sent, and whatever the dispatch guard raises."""
        message = item.message
        try:
            if isinstance(message, JSONRPCRequest):
                await self._send_request(message)
            else:
                # Never waits: these tell the server to stop, or answer it, and may come from a task being cancelled.
                self._child.write(encode_message(message) + b"\n")
        except ChildGone:
            # Whoever reads may not have noticed yet.
            self._on_over()
            if isinstance(message, JSONRPCRequest):
                raise ConnectionLost("it ended", sent=False) from None
            raise anyio.ClosedResourceError from None

    async def _send_request(self, request: JSONRPCRequest) -> None:
        data = encode_message(request) + b"\n"
        await self._child.wait_writable()
        # From here to the write nothing may await: the guard's answer is only good for this very moment.
        if request.method == "tools/call":
            check_dispatch()
        self._child.write(data)

    async def aclose(self) -> None:
        """The pipe is closed with the process, by whoever opened the link."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        await self.aclose()
