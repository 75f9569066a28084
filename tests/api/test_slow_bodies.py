"""A body that does not end is waited for only so long, and costs nobody else anything."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress
from pathlib import Path

import pytest

from midwatch.kit.json import decode
from tests.api.edge import Edge, open_edge

HEAD = "POST /api/v1/alerts HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
FRAMINGS = {
    "announced": (f"{HEAD}Content-Length: 1000\r\n\r\n".encode(), b'{"data": '),
    "in chunks": (f"{HEAD}Transfer-Encoding: chunked\r\n\r\n".encode(), b'1\r\n{\r\n1\r\n"\r\n'),
    "not even begun": (f"{HEAD}Content-Length: 1000\r\n\r\n".encode(), b""),
}


@pytest.fixture
async def edge(dsn: str, config_folder: Path) -> AsyncGenerator[Edge]:
    async with open_edge(config_folder, dsn, body_seconds=0.3) as edge:
        yield edge


def assert_timed_out(answer: bytes) -> None:
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 408 ")
    assert b"connection: close" in head.lower()
    assert decode(body) == {"message": "the body did not arrive in time", "code": "request_timeout"}


@pytest.mark.parametrize("framing", FRAMINGS)
async def test_a_body_that_stops_is_answered_and_its_connection_closed(edge: Edge, framing: str) -> None:
    head, part = FRAMINGS[framing]
    reader, writer = await asyncio.open_connection("127.0.0.1", edge.port)
    try:
        writer.write(head + part)
        await edge.submit("Others are served meanwhile.")
        async with asyncio.timeout(60):
            assert_timed_out(await reader.read())
    finally:
        writer.close()
    await edge.submit("And afterwards.")
    assert await edge.count_sessions() == 2


async def test_a_body_that_trickles_is_not_waited_for_any_longer(edge: Edge) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", edge.port)
    try:
        writer.write(f"{HEAD}Content-Length: 100000\r\n\r\n{{".encode())
        answer = b""
        async with asyncio.timeout(60):
            while not answer:
                writer.write(b" ")
                with suppress(TimeoutError):
                    async with asyncio.timeout(0.01):
                        answer = await reader.readuntil(b"}")
        assert_timed_out(answer)
    finally:
        writer.close()
    assert await edge.count_sessions() == 0


async def test_a_client_that_leaves_in_the_middle_leaves_nothing(edge: Edge) -> None:
    _, writer = await asyncio.open_connection("127.0.0.1", edge.port)
    writer.write(b"".join(FRAMINGS["announced"]))
    await writer.drain()
    writer.transport.abort()
    await edge.submit()
    assert await edge.count_sessions() == 1
