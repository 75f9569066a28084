"""MCP over a child's pipes: a message is written by the task that sends it, and a tool call asks its guard first."""

import json
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Self, cast, final

import anyio
import structlog
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCMessage, JSONRPCRequest, JSONRPCResponse, jsonrpc_message_adapter
from pydantic import ValidationError

from midwatch.kit.json import decode, encode
from midwatch.tools.dispatch import check_dispatch
from midwatch.tools.mcp.child import Child, ChildGone, start_child

log = structlog.get_logger()


@final
class StdioLink:
    """A running server's pair of streams. The SDK's session reads `incoming` and writes `outgoing`."""

    def __init__(self, child: Child, *, server_id: str, on_over: Callable[[], None]) -> None:
        self.is_over = False
        """Nothing more will come in: every waiting call has failed or is about to."""
        self.incoming = _Incoming(child, server_id=server_id, on_over=self._end)
        self.outgoing = _Outgoing(child)
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
    command: Sequence[str], *, environment: Mapping[str, str], server_id: str, on_over: Callable[[], None]
) -> AsyncGenerator[StdioLink]:
    """Starts the server, and stops it and all it started at the end. Raises OSError or ValueError if it cannot start.

    `on_over` is told, perhaps more than once, that nothing more will come in.
    """
    child = await start_child(command, environment=environment)
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
            if (message := _read_message(line)) is not None:
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
    def __init__(self, child: Child) -> None:
        self._child = child

    async def send(self, item: SessionMessage, /) -> None:
        message = item.message
        try:
            if isinstance(message, JSONRPCRequest):
                await self._send_request(message)
            else:
                # Never waits: these tell the server to stop, or answer it, and may come from a task being cancelled.
                self._child.write(_encode_message(message))
        except ChildGone:
            raise anyio.ClosedResourceError from None

    async def _send_request(self, request: JSONRPCRequest) -> None:
        data = _encode_message(request)
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


def _encode_message(message: JSONRPCMessage) -> bytes:
    return encode(message.model_dump(by_alias=True, exclude_unset=True)) + b"\n"


def _read_message(line: bytearray) -> JSONRPCMessage | None:
    data = _decode_line(line)
    if not isinstance(data, dict):
        return None
    fields = cast("dict[str, Any]", data)
    try:
        if "result" in fields and "method" not in fields:
            # Most of what arrives; the union below would look at each of its members.
            return JSONRPCResponse.model_validate(fields)
        return jsonrpc_message_adapter.validate_python(fields, by_name=False)
    except ValidationError:
        return _fail_request(fields)


def _decode_line(line: bytearray) -> Any:
    try:
        return decode(bytes(line))
    except ValueError:
        pass
    try:
        # Broken text inside whole JSON, such as half a surrogate pair, costs its characters and not the answer.
        return decode(encode(json.loads(line.decode(errors="replace"))))
    except (ValueError, TypeError, RecursionError):
        return None


def _fail_request(fields: Mapping[str, Any]) -> JSONRPCMessage | None:
    """An answer that is none fails its request now, as an empty result that no method takes for valid."""
    match fields:
        case {"id": bool()} | {"method": _}:
            return None
        case {"id": int() | str() as request_id}:
            return JSONRPCResponse(jsonrpc="2.0", id=request_id, result={})
        case _:
            return None
