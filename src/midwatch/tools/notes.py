"""What a tool says while it works, on its way to whoever watches. Nothing of it is stored, and no model reads it."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar

from midwatch.domain.tools import CallNote
from midwatch.kit.clock import Clock, boottime

Hear = Callable[[CallNote], None]

_PAUSE = 0.2
"""Seconds between two notes of one call: a person reads no faster, and a server may send thousands."""

_ear: ContextVar[Hear | None] = ContextVar("call_ear", default=None)


@contextmanager
def listening(hear: Hear, *, clock: Clock = boottime) -> Generator[None]:
    """Within this block a transport tells `hear` what the server says of the call, now and then."""
    token = _ear.set(_seldom(hear, clock))
    try:
        yield
    finally:
        _ear.reset(token)


def current_ear() -> Hear | None:
    """Asked by transports in the task that calls; told from any task."""
    return _ear.get()


def _seldom(hear: Hear, clock: Clock) -> Hear:
    next_at = clock()

    def tell(note: CallNote) -> None:
        nonlocal next_at
        now = clock()
        if now >= next_at:
            next_at = now + _PAUSE
            hear(note)

    return tell
