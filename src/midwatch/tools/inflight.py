"""Calls that are on their way in this replica, so that a person can end one without ending its session."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from uuid import UUID

_REMEMBERED = 1000


class CallCancelled(Exception):
    """A person ended the call while it was on its way."""


@dataclass(frozen=True, slots=True)
class CallsInFlight:
    _scopes: dict[UUID, asyncio.Timeout] = field(default_factory=dict[UUID, asyncio.Timeout])
    _unmet: deque[UUID] = field(default_factory=lambda: deque[UUID](maxlen=_REMEMBERED))
    """Cancelled, but not here or not yet: every replica hears of every call."""

    def cancel(self, call_id: UUID) -> None:
        scope = self._scopes.get(call_id)
        if scope is None:
            self._unmet.append(call_id)
        else:
            scope.reschedule(asyncio.get_running_loop().time())

    def is_cancelled(self, call_id: UUID) -> bool:
        """Before it could begin."""
        return call_id in self._unmet

    @asynccontextmanager
    async def cancellable(self, call_id: UUID) -> AsyncGenerator[None]:
        """Raises CallCancelled when the block was ended by a person. A TimeoutError from within passes as it is."""
        scope = asyncio.timeout(None)
        try:
            async with scope:
                self._scopes[call_id] = scope
                try:
                    yield
                finally:
                    self._scopes.pop(call_id, None)
        except TimeoutError:
            if scope.expired():
                raise CallCancelled from None
            raise
