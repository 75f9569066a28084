"""The first word with the database: whatever is wrong is one sentence, with what to do and without the password."""

import asyncio
import socket
import struct
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit, urlunsplit

import pytest

from midwatch.cli.signals import running_task
from midwatch.domain.errors import MidwatchError, Misconfigured, StoreUnavailable
from midwatch.store.driver import connect_first
from midwatch.store.embedded import EmbeddedPostgres
from tests.databases import with_database

SECRET = "hunter2-of-the-night-watch"
HTTP = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"


async def fail(dsn: str, kind: type[MidwatchError]) -> str:
    with pytest.raises(kind) as failure:
        await connect_first(dsn)
    assert SECRET not in str(failure.value)
    assert "\n" not in str(failure.value)
    return str(failure.value)


@asynccontextmanager
async def serving(answer: bytes) -> AsyncGenerator[int]:
    """Something that listens and is no PostgreSQL. Without an answer it hangs up."""
    leaving = asyncio.Event()
    talks: list[asyncio.Task[None]] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        talks.append(running_task())
        await reader.read(1)
        if answer:
            writer.write(answer)
            await leaving.wait()
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()

    async with await asyncio.start_server(talk, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1]
        leaving.set()
        await asyncio.wait(talks)


async def test_another_kind_of_server_is_told_apart() -> None:
    async with serving(HTTP) as port:
        told = await fail(f"postgresql://watch:{SECRET}@127.0.0.1:{port}/deck", Misconfigured)
    assert told == "DATABASE_URL leads to a server that is not PostgreSQL, or that does not take TLS"


async def test_a_server_that_hangs_up_is_unavailable() -> None:
    async with serving(b"") as port:
        told = await fail(f"postgresql://watch:{SECRET}@127.0.0.1:{port}/deck?sslmode=disable", StoreUnavailable)
    assert told.endswith("; start PostgreSQL or correct DATABASE_URL")


@pytest.mark.parametrize(
    ("host", "reason"),
    [("127.0.0.1:{free}", "connection refused"), ("watch.invalid", ""), ("/deck?host=/nowhere", "No such file")],
)
async def test_a_server_that_is_not_there_is_unavailable(host: str, reason: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        free = unused.getsockname()[1]
    url = f"postgresql://watch:{SECRET}@{host.format(free=free)}"
    told = await fail(url, StoreUnavailable)
    assert told.startswith(f"cannot open the database: {reason}")
    assert told.endswith("; start PostgreSQL or correct DATABASE_URL")


async def test_a_wrong_password_is_for_the_operator(postgres: EmbeddedPostgres) -> None:
    parts = urlsplit(postgres.read_dsn())
    login = f"{parts.username}:{SECRET}@{parts.hostname}:{parts.port}"
    told = await fail(urlunsplit(parts._replace(netloc=login)), Misconfigured)
    assert "password authentication failed" in told
    assert told.endswith("; correct the user, the password or the name")


async def test_a_database_that_was_never_made_is_for_the_operator(postgres: EmbeddedPostgres) -> None:
    told = await fail(with_database(postgres.read_dsn(), "nowhere"), Misconfigured)
    assert told.startswith('DATABASE_URL is refused: database "nowhere" does not exist')


@pytest.mark.parametrize("url", ["mysql://watch@deck/x", "deck", f"postgresql://watch:{SECRET}#@127.0.0.1/deck"])
async def test_what_is_no_address_is_for_the_operator(url: str) -> None:
    assert await fail(url, Misconfigured) == "DATABASE_URL: expected postgresql://user:password@host:5432/name"


def greet_as(version: str) -> bytes:
    """What a server says to a client that it lets in without asking for a password."""
    setting = f"server_version\0{version}\0".encode()
    parts = [(b"R", bytes(4)), (b"S", setting), (b"K", bytes(8)), (b"Z", b"I")]
    return b"".join(kind + struct.pack("!i", len(body) + 4) + body for kind, body in parts)


async def test_a_server_too_old_is_for_the_operator() -> None:
    async with serving(greet_as("14.9")) as port:
        told = await fail(f"postgresql://watch:{SECRET}@127.0.0.1:{port}/deck?sslmode=disable", Misconfigured)
    assert told == "DATABASE_URL leads to PostgreSQL 14, and Midwatch needs 15 or newer: upgrade that server"


async def test_the_oldest_server_that_will_do_is_taken() -> None:
    async with serving(greet_as("15.0")) as port:
        connection = await connect_first(f"postgresql://watch@127.0.0.1:{port}/deck?sslmode=disable")
        connection.terminate()
