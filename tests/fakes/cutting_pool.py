"""A pool that strikes at a chosen commit: the process dies there, or the database's answer does not arrive.

It stands before a real pool. What was committed is committed, and after a death nothing gets through any more.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeVar

from midwatch.store.driver import Connection, Pool, Row

T = TypeVar("T")


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
            yield _CuttingConnection(connection, self)

    def terminate(self) -> None:
        self.pool.terminate()

    def check(self) -> None:
        if self.is_dead:
            raise Death

    async def commit(self, statement: Awaitable[T]) -> T:
        """An autocommitted statement, struck before or after."""
        with self.striking():
            return await statement

    def striking(self) -> "_Strike":
        return _Strike(self)

    def strike(self, harm: Harm) -> None:
        if harm in (Harm.DIE_BEFORE, Harm.DIE_AFTER):
            self.is_dead = True
            raise Death
        raise ConnectionResetError("struck")


class _Strike:
    def __init__(self, pool: CuttingPool) -> None:
        pool.commits += 1
        self._pool = pool
        self._harm = pool.plan.get(pool.commits)

    def __enter__(self) -> None:
        if self._harm in (Harm.DIE_BEFORE, Harm.LOSE_QUESTION):
            self._pool.strike(self._harm)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None and self._harm in (Harm.DIE_AFTER, Harm.LOSE_ANSWER):
            self._pool.strike(self._harm)
