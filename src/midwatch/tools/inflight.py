"""Calls and agents that are at work in this replica, so that a person can end one without ending its session."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from uuid import UUID

_REMEMBERED = 1000


class CallCancelled(Exception):
    """A person ended the call, or the agent, while it was at work."""


@dataclass(frozen=True, slots=True)
class CallsInFlight:
    _scopes: dict[UUID, asyncio.Timeout] = field(default_factory=dict[UUID, asyncio.Timeout])
    _unmet: deque[UUID] = field(default_factory=lambda: deque[UUID](maxlen=_REMEMBERED))
    """Cancelled, but not here or not yet: every replica hears of every call."""

    def cancel(self, call_id: UUID) -> None:
        """May be told again and again."""
        scope = self._scopes.get(call_id)
        if scope is not None and not scope.expired():
            scope.reschedule(asyncio.get_running_loop().time())
        elif call_id not in self._unmet:
            self._unmet.append(call_id)

    def is_cancelled(self, call_id: UUID) -> bool:
        """Before it could begin."""
        return call_id in self._unmet

    @asynccontextmanager
    async def cancellable(self, call_id: UUID) -> AsyncGenerator[None]:
        """Raises CallCancelled when the block was ended by a person. A TimeoutError from within passes as it is."""
        if self.is_cancelled(call_id):
            raise CallCancelled
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
