"""Cancellation: tasks that must finish although whoever started them is cancelled, and cancellations dealt with."""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any, Self, TypeVar

T = TypeVar("T")


@dataclass(slots=True)
class OwnedTasks:
    """Entered where lifetimes are kept, so that everything started here ends before what it writes to is closed."""

    _group: asyncio.TaskGroup = field(default_factory=asyncio.TaskGroup)

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        # The group is told of no error: it waits for its tasks instead of cancelling them.
        await self._group.__aexit__(None, None, None)

    def start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """For work that lets no error escape: one that did would cancel the other tasks of the group."""
        return self._group.create_task(work)

    async def finish(self, work: Coroutine[Any, Any, T], *, seconds: float) -> T:
        """Runs `work` to its end within `seconds`, and only then gives in to a cancellation that came meanwhile."""
        task = self.start(_bounded(work, seconds))
        cancelled = False
        while not task.done():
            try:
                await asyncio.wait({task})
            except asyncio.CancelledError:
                cancelled = True
        outcome = task.result()
        if cancelled:
            raise asyncio.CancelledError
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


async def _bounded(work: Coroutine[Any, Any, T], seconds: float) -> T | Exception:
    """An error is handed over as a value: one that escaped would cancel the other tasks of the group."""
    try:
        async with asyncio.timeout(seconds):
            return await work
    except Exception as error:  # noqa: BLE001 -- raised again in the task that asked for the work
        return error


def forget_cancellation() -> None:
    """The current task was cancelled, has dealt with it, and goes on."""
    task = asyncio.current_task()
    while task is not None and task.cancelling():
        task.uncancel()
