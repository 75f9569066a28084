"""How long single callbacks keep an event loop to themselves, in CPU time of its thread: nobody else's counts."""

import asyncio
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast


@dataclass(slots=True)
class Longest:
    seconds: float = 0.0
    what: str = ""
    calls: int = 0


@contextmanager
def watch_callbacks() -> Generator[Longest]:
    """Of all loops of this process, for as long as it is entered."""
    longest = Longest()
    handle = cast("Any", asyncio.Handle)
    run = handle._run  # noqa: SLF001 -- the one place that all callbacks pass

    def timed(self: Any) -> None:
        began = time.thread_time()
        run(self)
        spent = time.thread_time() - began
        longest.calls += 1
        if spent > longest.seconds:
            longest.seconds, longest.what = spent, _name(self)

    handle._run = timed  # noqa: SLF001 -- as above
    try:
        yield longest
    finally:
        handle._run = run  # noqa: SLF001 -- as above


def _name(handle: Any) -> str:
    callback = handle._callback  # noqa: SLF001 -- as above
    task = getattr(callback, "__self__", None)
    return task.get_name() if isinstance(task, asyncio.Task) else repr(callback)[:80]
