"""A web of loopback pages: each host and path answers what the test wrote for it, and every request is remembered.

Names lead to addresses as the test's own DNS says; whatever address is then connected to, the socket is of loopback.
"""

import asyncio
import ipaddress
import ssl
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast, final

import httpcore

from midwatch.knowledge.addresses import Address
from tests.fakes.tls_server import serve_connections, write_certificate

PUBLIC = "93.184.216.34"
"""Nothing is ever sent there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    wait: asyncio.Event | None = None
    """Between the head and the body."""
    endless: bool = False
    """The body is repeated for as long as somebody reads."""


def page(text: str | bytes, kind: str = "text/plain; charset=utf-8") -> Answer:
    body = text.encode() if isinstance(text, str) else text
    return Answer(body=body, headers={"content-type": kind})


def redirect(location: str, status: int = 302) -> Answer:
    return Answer(status=status, headers={"location": location})


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    url: str
    headers: Mapping[str, str]


@final
@dataclass(slots=True, kw_only=True)
class Web:
    answers: dict[str, Answer] = field(default_factory=dict[str, Answer])
    """By address, such as `https://books.example/disk.md`; 404 for any other."""
    names: dict[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    """What a name leads to, one address list after another, the last for good; otherwise a public address."""
    visits: list[Visit] = field(default_factory=list[Visit])
    lookups: list[str] = field(default_factory=list[str])
    connections: list[str] = field(default_factory=list[str])
    """The addresses that were connected to."""
    ports: dict[str, int] = field(default_factory=dict[str, int])
    visited: asyncio.Event = field(default_factory=asyncio.Event)
    certificate: Path

    def urls(self) -> list[str]:
        return [visit.url for visit in self.visits]

    async def resolve(self, host: str, port: int) -> Sequence[Address]:  # noqa: ARG002 - as a resolver is asked
        self.lookups.append(host)
        return [ipaddress.ip_address(written) for written in self.names.get(host, [PUBLIC])]

    def trust(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=self.certificate)

    async def handle(self, scheme: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        pairs = (line.partition(":") for line in head[1:] if line)
        headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
        url = f"{scheme}://{headers['host']}{head[0].split(' ')[1]}"
        self.visits.append(Visit(url=url, headers=headers))
        self.visited.set()
        answer = self.answers.get(url, Answer(status=404))
        extra = "".join(f"{name}: {value}\r\n" for name, value in answer.headers.items())
        writer.write(f"HTTP/1.1 {answer.status} Said\r\nconnection: close\r\n{extra}\r\n".encode("latin-1"))
        await writer.drain()
        if answer.wait is not None:
            await answer.wait.wait()
        writer.write(answer.body)
        while answer.endless:
            await writer.drain()
            writer.write(answer.body)
        writer.write_eof() if writer.can_write_eof() else None
        await writer.drain()


@final
class LoopbackSockets(httpcore.AsyncNetworkBackend):
    """Connects to the web's own ports, and remembers which address was asked for."""

    def __init__(self, web: Web) -> None:
        self._web = web
        self._sockets = cast("httpcore.AsyncNetworkBackend", httpcore.AnyIOBackend())

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - as a backend is asked
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        self._web.connections.append(host)
        scheme = {80: "http", 443: "https"}.get(port)
        if scheme is None:
            raise httpcore.ConnectError("nobody listens")
        return await self._sockets.connect_tcp(
            "127.0.0.1", self._web.ports[scheme], timeout, local_address, socket_options
        )

    async def sleep(self, seconds: float) -> None:
        await self._sockets.sleep(seconds)


@asynccontextmanager
async def open_web(folder: Path, *hosts: str) -> AsyncGenerator[Web]:
    """`hosts` are those that have a certificate."""
    web = Web(certificate=write_certificate(folder / "web.pem", *hosts))
    async with AsyncExitStack() as stack:

        async def handle_plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await web.handle("http", reader, writer)

        async def handle_tls(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await web.handle("https", reader, writer)

        web.ports["http"] = await stack.enter_async_context(serve_connections(handle_plain))
        web.ports["https"] = await stack.enter_async_context(serve_connections(handle_tls, certificate=web.certificate))
        yield web
