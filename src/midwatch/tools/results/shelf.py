"""The stored results of one session. Those of other sessions are out of reach."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, final
from uuid import UUID

from midwatch.domain.errors import StoreUnavailable
from midwatch.store.engine import Store
from midwatch.store.results import StoredResult, find_result, has_long_results, list_long_results

_LISTED = 20


class Shelf(Protocol):
    async def has_something(self) -> bool:
        """Whether there is a result that is worth opening again."""
        ...

    def offer(self) -> None:
        """There is one from now on."""
        ...

    async def find(self, tail: str) -> StoredResult | None:
        """Raises StoreUnavailable."""
        ...

    async def list_long(self) -> Sequence[tuple[UUID, str, int]]:
        """Calls, their tools and sizes, newest first. Raises StoreUnavailable."""
        ...


@final
class EmptyShelf:
    """For calls that are kept nowhere."""

    async def has_something(self) -> bool:
        return False

    def offer(self) -> None:
        """Nobody could open it."""

    async def find(self, tail: str) -> StoredResult | None:  # noqa: ARG002 -- there is none
        return None

    async def list_long(self) -> Sequence[tuple[UUID, str, int]]:
        return ()


@final
@dataclass(slots=True)
class StoredShelf:
    store: Store
    session_id: UUID
    _has_something: bool | None = None

    async def has_something(self) -> bool:
        if self._has_something is None:
            try:
                async with self.store.connect() as tx:
                    self._has_something = await has_long_results(tx, self.session_id)
            except StoreUnavailable:
                # Asked again before the next question; the run itself notices what is wrong.
                return False
        return self._has_something

    def offer(self) -> None:
        self._has_something = True

    async def find(self, tail: str) -> StoredResult | None:
        async with self.store.connect() as tx:
            return await find_result(tx, self.session_id, tail=tail)

    async def list_long(self) -> Sequence[tuple[UUID, str, int]]:
        async with self.store.connect() as tx:
            return await list_long_results(tx, self.session_id, limit=_LISTED)
