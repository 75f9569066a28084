"""The connection pool, and the one place where transactions begin and commit."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from midwatch.store import driver
from midwatch.store.driver import COMMAND_TIMEOUT, Connection, Pool, Tx, unavailable_as_such

ReadDsn = Callable[[], str]


@dataclass(frozen=True, slots=True)
class Store:
    pool: Pool
    read_dsn: ReadDsn

    @asynccontextmanager
    async def connect(self) -> AsyncGenerator[Connection]:
        """A connection in autocommit: each statement is a transaction of its own."""
        with unavailable_as_such():
            async with self.pool.acquire(timeout=COMMAND_TIMEOUT) as connection:
                yield connection

    @asynccontextmanager
    async def begin(self) -> AsyncGenerator[Tx]:
        """One transaction: commits on leaving, rolls back on any error."""
        async with self.connect() as connection, connection.transaction():
            yield connection

    async def dedicated(self) -> Connection:
        """A connection outside the pool, for LISTEN. The caller closes it."""
        with unavailable_as_such():
            return await driver.connect(self.read_dsn())


@asynccontextmanager
async def open_store(
    read_dsn: ReadDsn, *, min_size: int = 2, max_size: int = 20, on_failure: Callable[[], None] | None = None
) -> AsyncGenerator[Store]:
    """`read_dsn` is asked at every new connection: the embedded database may come back on another port."""

    async def open_connection(*_: Any, **settings: Any) -> Connection:
        try:
            return await driver.connect(read_dsn(), **settings)
        except OSError:
            if on_failure is not None:
                on_failure()
            raise

    with unavailable_as_such():
        pool = await driver.create_pool(open_connection, min_size=min_size, max_size=max_size)
    try:
        yield Store(pool, read_dsn)
    finally:
        pool.terminate()
