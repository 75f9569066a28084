"""Sockets for the HTTP client, on asyncio alone: the last question is asked right before bytes leave."""

import asyncio
import ssl
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, final

import httpcore

_check: ContextVar[Callable[[], None] | None] = ContextVar("check_before_bytes", default=None)


@contextmanager
def asking_first(check: Callable[[], None]) -> Generator[None]:
    """Within this block `check` runs once per request with a body, with no await between it and the bytes leaving."""
    token = _check.set(check)
    try:
        yield
    finally:
        _check.reset(token)


@final
class AsyncioNetwork(httpcore.AsyncNetworkBackend):
    """Failures to connect are raised as the OSError they are."""

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ARG002, ASYNC109 - whoever calls has a limit for all of it
        local_address: str | None = None,  # noqa: ARG002 - not ours to choose
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,  # noqa: ARG002 - asyncio sets TCP_NODELAY
    ) -> httpcore.AsyncNetworkStream:
        reader, writer = await asyncio.open_connection(host, port)
        return _Socket(reader, writer)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


@final
class _Socket(httpcore.AsyncNetworkStream):
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._held = b""
        self._leave_nothing_behind()

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002, ASYNC109 - see above
        try:
            if self._held:
                # A request without a body, such as the one that asks a proxy for a tunnel.
                await self._send(self._take_held())
            return await self._reader.read(max_bytes)
        except OSError as error:
            raise httpcore.ReadError from error

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002, ASYNC109 - see above
        check = _check.get()
        if check is not None and buffer and not self._held:
            # The head waits for the body: what is asked for once must leave at once.
            self._held = buffer
        elif buffer:
            try:
                await self._send(self._take_held() + buffer, check)
            except OSError as error:
                raise httpcore.WriteError from error

    async def _send(self, data: bytes, check: Callable[[], None] | None = None) -> None:
        await self._writer.drain()
        # From here to the write nothing may await: the answer is only good for this very moment.
        if check is not None:
            check()
        self._writer.write(data)
        await self._writer.drain()

    def _take_held(self) -> bytes:
        held, self._held = self._held, b""
        return held

    async def aclose(self) -> None:
        # A plain close would first flush what the server has not taken, and a call whose time is over would reach it.
        self._writer.transport.abort()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ARG002, ASYNC109 - see above
    ) -> httpcore.AsyncNetworkStream:
        try:
            await self._writer.start_tls(ssl_context, server_hostname=server_hostname)
        except BaseException:
            self._writer.transport.abort()
            raise
        self._leave_nothing_behind()
        return self

    def get_extra_info(self, info: str) -> Any:
        if info == "is_readable":
            # Nobody speaks on an idle connection but to end it.
            return self._reader.at_eof() or self._writer.is_closing()
        return self._writer.get_extra_info({"ssl_object": "ssl_object", "server_addr": "peername"}.get(info, info))

    def _leave_nothing_behind(self) -> None:
        # `drain` then returns when all earlier bytes have left this process. TLS takes a limit of 0 for "never".
        self._writer.transport.set_write_buffer_limits(high=1, low=0)
