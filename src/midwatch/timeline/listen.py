"""One LISTEN connection per process, reconnected for as long as the process lives."""

import asyncio
from collections.abc import Callable, Mapping

import structlog

from midwatch.domain.errors import StoreUnavailable
from midwatch.store.driver import Connection, unavailable_as_such
from midwatch.store.engine import Store

_BACKOFF = (0.1, 0.2, 0.5, 1.0)
_PING = 5.0

log = structlog.get_logger()


async def listen(
    store: Store, handlers: Mapping[str, Callable[[str], None]], *, on_connected: Callable[[], None]
) -> None:
    """Hands each notification to its channel's handler.

    `on_connected` runs after every (re)connect: what was said in between was not heard.
    """
    failures = 0
    while True:
        try:
            connection = await store.dedicated()
        except StoreUnavailable:
            await asyncio.sleep(_BACKOFF[min(failures, len(_BACKOFF) - 1)])
            failures += 1
            continue
        failures = 0
        try:
            await _serve(connection, handlers, on_connected)
        except StoreUnavailable:
            log.warning("listen_connection_lost")
        finally:
            connection.terminate()


async def _serve(
    connection: Connection, handlers: Mapping[str, Callable[[str], None]], on_connected: Callable[[], None]
) -> None:
    lost = asyncio.Event()
    connection.add_termination_listener(lambda _: lost.set())
    with unavailable_as_such():
        for channel, handle in handlers.items():
            await connection.add_listener(channel, lambda _c, _p, _ch, payload, handle=handle: handle(payload))
        on_connected()
        while not lost.is_set():
            try:
                async with asyncio.timeout(_PING):
                    await lost.wait()
            except TimeoutError:
                # A connection cut without a word never ends by itself.
                await connection.execute("SELECT 1")
    raise StoreUnavailable("the connection that listens was closed")
