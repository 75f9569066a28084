"""The HTTP client that the provider adapters share: one per process.

Its pool loses a connection for good when a task is cancelled while it hands one out or takes one back. So each exchange
has a task of its own, which is cancelled only while it waits for the network; whoever asked can go at any time.
"""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Self, cast, final

import httpx

from midwatch.kit.owned import OwnedTasks

_TIMEOUT = httpx.Timeout(connect=10.0, read=300.0, write=60.0, pool=60.0)
_MOST_IN_A_POOL = 8
_LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=_MOST_IN_A_POOL, keepalive_expiry=30.0)
_MOST_AHEAD = 1 << 20
"""Bytes that are read before anybody wants them."""
_NETWORK = (
    "connect_tcp.started",
    "start_tls.started",
    "send_request_headers.started",
    "send_request_body.started",
    "receive_response_headers.started",
    "receive_response_body.started",
)
"""Steps of the pool in which it waits for the network and bears to be cancelled."""


def new_http_client() -> httpx.AsyncClient:
    """Entered and left by the caller. Redirects are not followed: a key must not travel to another host."""
    return _ModelClient(timeout=_TIMEOUT, limits=_LIMITS, verify=httpx.create_ssl_context(), follow_redirects=False)


@final
@dataclass(slots=True, eq=False)
class _Pool:
    client: httpx.AsyncClient
    exchanges: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])

    @property
    def is_full(self) -> bool:
        return len(self.exchanges) >= _MOST_IN_A_POOL

    def keep(self, task: asyncio.Task[None]) -> None:
        self.exchanges.add(task)
        task.add_done_callback(self.exchanges.discard)


@final
class _ModelClient(httpx.AsyncClient):
    """Over small pools, as many as are needed.

    A pool looks at each of its connections once for each of them whenever a request begins or ends: with a hundred in
    one, that was more than all the rest of an iteration.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._settings = settings
        self._pools: list[_Pool] = []

    async def __aenter__(self) -> Self:
        self._owned = await OwnedTasks().__aenter__()
        return await super().__aenter__()

    async def __aexit__(self, *error: Any) -> None:  # noqa: PYI036 -- handed on as they are
        for task in [task for pool in self._pools for task in pool.exchanges]:
            task.cancel()
        await self._owned.__aexit__()
        await self.aclose()
        await super().__aexit__(*error)

    async def aclose(self) -> None:
        for pool in self._pools:
            await pool.client.aclose()
        await super().aclose()

    async def send(self, request: httpx.Request, *, stream: bool = False, **options: Any) -> httpx.Response:
        exchange = _Exchange()
        request.extensions = {**request.extensions, "trace": exchange.follow}
        pool = self._find_room()
        task = self._owned.start(exchange.run(pool.client.send(request, stream=True, **options)))
        pool.keep(task)
        response = await exchange.open(task)
        if not stream:
            await response.aread()
        return response

    def _find_room(self) -> _Pool:
        """The first that has some, so that connections are used again."""
        pool = next((pool for pool in self._pools if not pool.is_full), None)
        if pool is None:
            pool = _Pool(httpx.AsyncClient(**self._settings))
            self._pools.append(pool)
        return pool


@final
class _Exchange(httpx.AsyncByteStream):
    """One request, and then the bytes of its answer."""

    def __init__(self) -> None:
        self._response: httpx.Response | None = None
        self._parts: list[bytes] = []
        self._error: Exception | None = None
        self._is_over = False
        self._is_abandoned = False
        self._bears_cancelling = False
        self._unsecured: Any = None
        """A connection whose TLS does not stand yet: the pool would forget to hang up."""
        self._room = asyncio.Event()
        self._waiting: asyncio.Future[None] | None = None

    async def run(self, sending: Coroutine[Any, Any, httpx.Response]) -> None:
        try:
            self._response = await sending
            stream = cast("httpx.AsyncByteStream", self._response.stream)
            self._response.stream = self
            async with aclosing(stream):
                await self._read(stream)
        except asyncio.CancelledError:
            self._error = httpx.ReadError("the exchange was given up")
            if self._unsecured is not None:
                await self._unsecured.aclose()
            raise
        except Exception as error:  # noqa: BLE001 -- raised again in the task that wants the answer
            self._error = error
        finally:
            self._is_over = True
            self._wake()

    async def follow(self, step: str, facts: dict[str, Any]) -> None:
        """Told by the pool of each step it takes."""
        if step.endswith(("connect_tcp.complete", "start_tls.complete")):
            self._unsecured = facts["return_value"] if step.endswith("connect_tcp.complete") else None
        self._bears_cancelling = step.endswith(_NETWORK)
        if self._bears_cancelling and self._is_abandoned:
            raise asyncio.CancelledError

    async def open(self, task: asyncio.Task[None]) -> httpx.Response:
        self._task = task
        try:
            while self._response is None and not self._is_over:
                await self._wait()
        except asyncio.CancelledError:
            self._abandon()
            raise
        if self._response is None:
            raise cast("Exception", self._error)
        return self._response

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        """All that has come since the last time."""
        while not self._parts:
            if self._is_over:
                raise self._error or StopAsyncIteration
            await self._wait()
        data = b"".join(self._parts)
        self._parts.clear()
        self._room.set()
        return data

    async def aclose(self) -> None:
        self._abandon()
        while not self._is_over:
            await self._wait()

    async def _read(self, stream: httpx.AsyncByteStream) -> None:
        ahead = 0
        async for part in stream:
            ahead = ahead + len(part) if self._parts else len(part)
            self._parts.append(part)
            self._wake()
            if ahead > _MOST_AHEAD:
                self._room.clear()
                await self._room.wait()

    def _abandon(self) -> None:
        if not self._is_over and not self._is_abandoned:
            self._is_abandoned = True
            if self._bears_cancelling:
                self._task.cancel()

    async def _wait(self) -> None:
        self._waiting = asyncio.get_running_loop().create_future()
        await self._waiting

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)
