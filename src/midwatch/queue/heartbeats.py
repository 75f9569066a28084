"""Heartbeats of many leases in few statements: those that are due while one is under way travel in the next together.

Each alone would wait for connections and for turns of a busy loop, and the last of a hundred would come too late.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum, auto
from typing import TypeVar

from midwatch.domain.errors import StoreUnavailable
from midwatch.store.driver import Tx
from midwatch.store.engine import Store
from midwatch.store.fence import Fence
from midwatch.store.leases import Due, Renewal, read_ending, renew_lease, renew_leases

T = TypeVar("T")

_PATIENCE = 0.1
"""Of the shortest lease: one connection that hangs must leave time for another to be tried."""


class _Turn(Enum):
    YOURS = auto()
    """Nobody sends for all any more."""
    ALONE = auto()
    """Not renewed with the others: lost, or just being ended or taken. Whoever waits for the row learns which."""


_Answer = Renewal | StoreUnavailable | _Turn


@dataclass(slots=True, eq=False)
class _Beat:
    due: Due
    answer: asyncio.Future[_Answer] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    def settle(self, answer: _Answer) -> None:
        if not self.answer.done():
            self.answer.set_result(answer)

    async def wait(self) -> _Answer:
        answer = await self.answer
        if answer is _Turn.YOURS:
            self.answer = asyncio.get_running_loop().create_future()
        return answer


@dataclass(slots=True)
class Heartbeats:
    _waiting: list[_Beat] = field(default_factory=list[_Beat])
    _is_leading: bool = False

    async def renew(self, store: Store, fence: Fence, lease: timedelta) -> Renewal | None:
        """As `renew_lease`. Raises StoreUnavailable. Whoever comes while nobody sends, sends for all who wait."""
        beat = _Beat(Due(fence=fence, lease=lease))
        self._waiting.append(beat)
        answer: _Answer = _Turn.YOURS
        while answer is _Turn.YOURS:
            if not self._is_leading:
                await self._lead(store)
            answer = await beat.wait()
        if answer is _Turn.ALONE:
            return await _renew_alone(store, beat.due)
        if isinstance(answer, StoreUnavailable):
            raise answer
        return answer

    async def _lead(self, store: Store) -> None:
        self._is_leading = True
        beats, self._waiting = self._waiting, []
        try:
            await _send(store, beats)
        finally:
            # A leader may be cancelled, because the run that it was to keep has ended. Nobody else pays for that.
            self._is_leading = False
            self._waiting[:0] = [beat for beat in beats if not beat.answer.done()]
            for beat in self._waiting:
                beat.settle(_Turn.YOURS)


async def _send(store: Store, beats: Sequence[_Beat]) -> None:
    due = [beat.due for beat in beats]
    try:
        renewed = await _ask(store, min(each.lease for each in due), lambda tx: renew_leases(tx, due))
    except StoreUnavailable as error:
        for beat in beats:
            beat.settle(error)
    else:
        for beat in beats:
            beat.settle(renewed.get(beat.due.fence.session_id, _Turn.ALONE))


async def _renew_alone(store: Store, due: Due) -> Renewal | None:
    async def renew(tx: Tx) -> Renewal | None:
        return await renew_lease(tx, due.fence, due.lease) or await read_ending(tx, due.fence)

    return await _ask(store, due.lease, renew)


async def _ask(store: Store, lease: timedelta, question: Callable[[Tx], Awaitable[T]]) -> T:
    try:
        async with asyncio.timeout(_PATIENCE * lease.total_seconds()), store.connect() as connection:
            try:
                return await question(connection)
            except asyncio.CancelledError:
                # Given back to the pool it would first wait for the server that does not answer.
                connection.terminate()
                raise
    except TimeoutError as error:
        raise StoreUnavailable("the heartbeat did not get through in time") from error
