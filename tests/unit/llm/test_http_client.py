"""The shared client: whenever a caller is cancelled, it goes at once, and no connection is lost to the pool."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress

import httpx
import pytest

from midwatch.kit import json
from midwatch.llm.http import new_http_client
from midwatch.llm.scripted import ScriptedTurn
from tests.fakes.openai_server import CHAT_COMPLETIONS, by_turn, serve
from tests.fakes.provider_server import Cut, Reply, Status, Stream
from tests.fakes.tls_server import serve_connections
from tests.unit.llm.asking import AT_REST, describe_pool

HELLO = ScriptedTurn(text="hello")
EVENTS = CHAT_COMPLETIONS.list_events(HELLO, 0)
MEGABYTE = 1 << 20
MOST_TURNS = 40
"""Of the event loop, after which a request on loopback is long over or waits for ever."""


async def read(
    http: httpx.AsyncClient, base_url: str, *, answer: str = "whole", connection: str = "keep-alive"
) -> bytes:
    data = b""
    url, body = f"{base_url}/chat/completions", json.encode({"messages": [], "answer": answer})
    with suppress(httpx.RemoteProtocolError):
        async with http.stream("POST", url, content=body, headers={"Connection": connection}) as response:
            async for part in response.aiter_bytes():
                data += part
    return data


async def cancel_after(turns: int, reading_it: Coroutine[None, None, bytes]) -> bool:
    """Whether it was not over by then. It is cancelled a second time right after the first."""
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        reading = group.create_task(reading_it)
        for _ in range(turns):
            await asyncio.sleep(0)
        reading.cancel()
        await asyncio.sleep(0)
        reading.cancel()
        await asyncio.wait({reading})
    return reading.cancelled()


ANSWERS: dict[str, Callable[[], Reply]] = {
    "whole": lambda: Stream(EVENTS),
    "silent": lambda: Stream([EVENTS[0], asyncio.Event()]),
    "cut": lambda: Stream([EVENTS[0], Cut()]),
    "refused": lambda: Status(status=503),
}


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("before", ["closed", "kept", "dropped"])
async def test_whenever_a_caller_is_cancelled_nothing_is_lost(answer: str, before: str) -> None:
    """Whatever became of the connection that was used before."""
    cancelled = 0
    connection = "close" if before == "closed" else "keep-alive"
    async with serve(lambda body: ANSWERS[body["answer"]]()) as server, asyncio.timeout(60):
        async with new_http_client() as http:
            for turns in range(MOST_TURNS):
                await read(http, server.base_url, connection=connection)
                if before == "dropped":
                    await server.close()
                reading = read(http, server.base_url, answer=answer, connection=connection)
                cancelled += await cancel_after(turns, reading)
                await settle(http)
        await server.see_all_leave()
    assert 10 < cancelled <= MOST_TURNS


async def settle(http: httpx.AsyncClient) -> None:
    """What was begun is taken down behind the caller, in some turns of the loop."""
    async with asyncio.timeout(60):
        while AT_REST not in describe_pool(http):  # noqa: ASYNC110 - a pool sets no event
            await asyncio.sleep(0)


async def test_only_so_much_is_read_before_somebody_wants_it() -> None:
    large = Stream([b"x" * MEGABYTE] * 8)
    async with (
        serve(lambda _: large) as server,
        asyncio.timeout(60),
        new_http_client() as http,
        http.stream("POST", f"{server.base_url}/chat/completions", content=b'{"messages":[]}') as response,
    ):
        for _ in range(1_000):
            await asyncio.sleep(0)
        sizes = [len(data) async for data in response.aiter_raw()]
    assert sizes[0] < 2 * MEGABYTE
    assert sum(sizes) == 8 * MEGABYTE


async def test_nobody_waits_for_a_handshake_that_does_not_come() -> None:
    greeted, left = asyncio.Event(), asyncio.Event()

    async def say_nothing(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.read(1)
        greeted.set()
        await reader.read()
        left.set()

    async with (
        serve_connections(say_nothing) as port,
        asyncio.timeout(60),
        new_http_client() as http,
        asyncio.TaskGroup() as group,
    ):
        reading = group.create_task(read(http, f"https://127.0.0.1:{port}"))
        await greeted.wait()
        reading.cancel()
        await asyncio.wait({reading})
        assert reading.cancelled()
        await left.wait()


async def test_a_client_that_is_left_ends_what_is_under_way() -> None:
    async def fail(http: httpx.AsyncClient, base_url: str) -> str:
        try:
            await read(http, base_url, answer="silent")
        except httpx.ReadError as error:
            return str(error)
        return ""

    async with (
        serve(lambda _: ANSWERS["silent"]()) as server,
        asyncio.timeout(60),
        asyncio.TaskGroup() as group,
        new_http_client() as http,
    ):
        reading = group.create_task(fail(http, server.base_url))
        await server.asked.wait()
    assert reading.result() == "the exchange was given up"


async def test_a_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serve(by_turn([HELLO])) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.base_url)
        async with new_http_client() as http:
            assert await read(http, "http://nowhere.invalid/v1") == b"".join(EVENTS)
    assert [received.path for received in proxy.requests] == ["http://nowhere.invalid/v1/chat/completions"]
