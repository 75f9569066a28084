"""Many streams at once over the shared client: small pools, each connection used again, none left behind."""

import asyncio
from typing import Any

import httpx

from midwatch.llm.http import new_http_client
from midwatch.llm.scripted import ScriptedTurn
from tests.fakes.openai_server import by_turn, serve

MANY = 40


async def read(http: httpx.AsyncClient, base_url: str) -> None:
    async with http.stream("POST", f"{base_url}/chat/completions", content=b'{"messages":[]}') as response:
        async for _ in response.aiter_raw():
            pass


def count_pools(http: httpx.AsyncClient) -> int:
    pools: list[Any] = getattr(http, "_pools", [])
    return len(pools)


async def test_no_pool_holds_more_than_a_few_of_many_streams_and_connections_are_used_again() -> None:
    asked = 0
    all_asked = asyncio.Event()

    async def hold(_: int) -> None:
        nonlocal asked
        asked += 1
        if asked == MANY:
            all_asked.set()
        await all_asked.wait()

    async with serve(by_turn([ScriptedTurn(text="Dry.")]), before_turn=hold) as server, asyncio.timeout(30):
        async with new_http_client() as http:
            async with asyncio.TaskGroup() as group:
                for _ in range(MANY):
                    group.create_task(read(http, server.base_url))
            assert server.connections == MANY
            assert count_pools(http) == MANY / 8
            for _ in range(5):
                await read(http, server.base_url)
            assert (server.connections, count_pools(http)) == (MANY, MANY / 8)
        await server.see_all_leave()


async def test_one_stream_after_another_needs_one_pool() -> None:
    async with serve(by_turn([ScriptedTurn(text="Dry.")])) as server, new_http_client() as http:
        for _ in range(5):
            await read(http, server.base_url)
        assert (server.connections, count_pools(http)) == (1, 1)
