"""A pool that strikes at a chosen commit: the process dies there, or the database's answer does not arrive.

It stands before a real pool. What was committed is committed, and after a death nothing gets through any more.
"""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, final

from midwatch.store.driver import Connection, Pool, Row


class Harm(StrEnum):
    DIE_BEFORE = "die_before"
    DIE_AFTER = "die_after"
    LOSE_QUESTION = "lose_question"
    """Nothing is committed, and the caller learns of a broken connection."""
    LOSE_ANSWER = "lose_answer"
    """It is committed, and the caller learns of a broken connection all the same."""


class Death(BaseException):
    """The process is gone: not an error that anything in it could handle."""


@dataclass(slots=True)
class CuttingPool:
    pool: Pool
    plan: Mapping[int, Harm] = field(default_factory=dict[int, Harm])
    """What happens at which commit, counted from one."""
    reads_count: bool = False
    """Statements that only read are struck as well."""
    commits: int = 0
    is_dead: bool = False

    @asynccontextmanager
    async def acquire(self, *, timeout: float | None = None) -> AsyncGenerator[Connection]:  # noqa: ASYNC109 -- the driver's own signature
        self.check()
        async with self.pool.acquire(timeout=timeout) as connection:
            yield CuttingConnection(connection, self)

    def terminate(self) -> None:
        self.pool.terminate()

    def check(self) -> None:
        if self.is_dead:
            raise Death

    @asynccontextmanager
    async def committing(self, query: str = "") -> AsyncGenerator[None]:
        """Around what commits; with nothing inside, around the commit of a transaction."""
        self.check()
        harm = None if _only_reads(query) and not self.reads_count else self._next_harm()
        if harm is Harm.DIE_BEFORE or harm is Harm.LOSE_QUESTION:
            self._strike(harm)
        yield
        if harm is Harm.DIE_AFTER or harm is Harm.LOSE_ANSWER:
            self._strike(harm)

    def _next_harm(self) -> Harm | None:
        self.commits += 1
        return self.plan.get(self.commits)

    def _strike(self, harm: Harm) -> None:
        if harm in (Harm.DIE_BEFORE, Harm.DIE_AFTER):
            self.is_dead = True
            raise Death
        raise ConnectionResetError("struck")


@final
class CuttingConnection:
    """A pooled connection whose commits are counted: a statement in autocommit, or a whole transaction."""

    def __init__(self, connection: Connection, pool: CuttingPool) -> None:
        self._connection = connection
        self._pool = pool

    async def execute(self, query: str, *args: object) -> str:
        async with self._around(query):
            return await self._connection.execute(query, *args)

    async def fetch(self, query: str, *args: object) -> Sequence[Row]:
        async with self._around(query):
            return await self._connection.fetch(query, *args)

    async def fetchrow(self, query: str, *args: object) -> Row | None:
        async with self._around(query):
            return await self._connection.fetchrow(query, *args)

    async def fetchval(self, query: str, *args: object) -> Any:
        async with self._around(query):
            return await self._connection.fetchval(query, *args)

    @asynccontextmanager
    async def transaction(self) -> AsyncGenerator[object]:
        inner = self._connection.transaction()
        await inner.__aenter__()
        try:
            yield inner
        except BaseException as error:
            await inner.__aexit__(type(error), error, error.__traceback__)
            raise
        try:
            async with self._pool.committing():
                await inner.__aexit__(None, None, None)
        finally:
            if self._connection.is_in_transaction():
                await inner.__aexit__(Death, None, None)

    async def add_listener(self, channel: str, callback: Callable[[object, int, str, str], None]) -> None:
        await self._connection.add_listener(channel, callback)

    def add_termination_listener(self, callback: Callable[[object], None]) -> None:
        self._connection.add_termination_listener(callback)

    def is_in_transaction(self) -> bool:
        return self._connection.is_in_transaction()

    def is_closed(self) -> bool:
        return self._connection.is_closed()

    async def close(self) -> None:
        await self._connection.close()

    def terminate(self) -> None:
        self._connection.terminate()

    @asynccontextmanager
    async def _around(self, query: str) -> AsyncGenerator[None]:
        self._pool.check()
        if self._connection.is_in_transaction():
            yield
            return
        async with self._pool.committing(query):
            yield


def _only_reads(query: str) -> bool:
    return query.lstrip().upper().startswith("SELECT")
