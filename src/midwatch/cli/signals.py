"""Signals as calls of a function, on the event loop."""

import asyncio
import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager

_HEEDED = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def heeding_signals(heed: Callable[[signal.Signals], None]) -> Generator[None]:
    loop = asyncio.get_running_loop()
    for number in _HEEDED:
        loop.add_signal_handler(number, heed, number)
    try:
        yield
    finally:
        for number in _HEEDED:
            loop.remove_signal_handler(number)


def running_task() -> asyncio.Task[None]:
    whole = asyncio.current_task()
    assert whole is not None  # noqa: S101 -- a coroutine runs in a task
    return whole
