"""The last question before a call's bytes leave this process: is it still ours to send?"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar

_guard: ContextVar[Callable[[], None] | None] = ContextVar("dispatch_guard", default=None)


@contextmanager
def guarded(check: Callable[[], None]) -> Generator[None]:
    """Within this block a transport runs `check` right before it sends a tool call."""
    token = _guard.set(check)
    try:
        yield
    finally:
        _guard.reset(token)


def check_dispatch() -> None:
    """Called by transports with no await between it and the bytes leaving."""
    check = _guard.get()
    if check is not None:
        check()
