"""Waiting for what other processes do."""

import asyncio
from collections.abc import Awaitable, Callable
from inspect import isawaitable
from typing import TypeVar, cast

T = TypeVar("T")

_PAUSE = 0.02


async def eventually(look: Callable[[], T | Awaitable[T | None] | None], *, within: float = 60) -> T:
    """Looks until what it sees is truthy, and returns that.

    The only place in the tests that polls: a replica, a tool server or the database sets no event in this process.
    """
    async with asyncio.timeout(within):
        while True:
            seen = look()
            found = await cast("Awaitable[T | None]", seen) if isawaitable(seen) else cast("T | None", seen)
            if found:
                return found
            await asyncio.sleep(_PAUSE)
