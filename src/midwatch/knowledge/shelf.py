"""What was fetched, kept for a while: whoever asks meanwhile waits for the first, instead of fetching as well."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar, final
from weakref import WeakValueDictionary

from midwatch.kit.clock import boottime

Kept = TypeVar("Kept")

_MOST_KEPT = 256


@final
class Shelf(Generic[Kept]):
    def __init__(self, *, clock: Callable[[], float] = boottime) -> None:
        self._clock = clock
        self._kept: dict[str, tuple[float, Kept]] = {}
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def get(self, key: str, fetch: Callable[[], Awaitable[tuple[Kept, float]]]) -> Kept:
        """`fetch` gives what to keep, and for how many seconds. Raises what it raises; then the next one fetches."""
        # Held by whoever waits: the last one to go takes it along.
        lock = self._locks.setdefault(key, asyncio.Lock())
        async with lock:
            until, kept = self._kept.get(key, (0.0, None))
            if kept is not None and self._clock() < until:
                return kept
            fetched, seconds = await fetch()
            self._put(key, fetched, until=self._clock() + seconds)
            return fetched

    def _put(self, key: str, fetched: Kept, *, until: float) -> None:
        self._kept.pop(key, None)
        self._kept[key] = (until, fetched)
        now = self._clock()
        live = [(old, entry) for old, entry in self._kept.items() if entry[0] > now]
        self._kept = dict(live[-_MOST_KEPT:])
