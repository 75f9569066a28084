"""Spans: what is under way, and within what. Whoever does something names it; where spans go is decided elsewhere.

The tracer of a run is found in its context, so tasks that a run starts have it too.
"""

from collections.abc import Generator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final, Protocol, final
from uuid import UUID

Value = str | bool | int | float
Attributes = Mapping[str, Value]


class Span(Protocol):
    def note(self, attributes: Attributes) -> None: ...

    def rename(self, name: str) -> None: ...

    def fail(self, code: str) -> None:
        """It came to nothing. `code` is one of ours, or the name of a class: never a text that others wrote."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RunIdentity:
    """Which run of a session it is: from that alone everybody knows its trace and its first span."""

    session_id: UUID
    epoch: int
    goes_on: bool = False
    """An earlier run, of the epoch before, had been stopped."""


class Tracer(Protocol):
    @property
    def takes_content(self) -> bool:
        """Somebody asked for what models and tools say to be told as well."""
        ...

    def open_run(self, name: str, identity: RunIdentity, *, attributes: Attributes) -> AbstractContextManager[Span]: ...

    def open(self, name: str, *, attributes: Attributes) -> AbstractContextManager[Span]: ...


@final
class _NoSpan:
    def note(self, attributes: Attributes) -> None:
        """Nobody asks."""

    def rename(self, name: str) -> None:
        """Nobody asks."""

    def fail(self, code: str) -> None:
        """Nobody asks."""


_NOTHING: Final[AbstractContextManager[Span]] = nullcontext(_NoSpan())


@final
class NoTracer:
    """Tells nobody anything."""

    @property
    def takes_content(self) -> bool:
        return False

    def open_run(
        self,
        name: str,  # noqa: ARG002 - as the protocol has it
        identity: RunIdentity,  # noqa: ARG002
        *,
        attributes: Attributes,  # noqa: ARG002
    ) -> AbstractContextManager[Span]:
        return _NOTHING

    def open(self, name: str, *, attributes: Attributes) -> AbstractContextManager[Span]:  # noqa: ARG002
        return _NOTHING


UNTRACED: Final[Tracer] = NoTracer()
_TRACER: ContextVar[Tracer] = ContextVar("midwatch_tracer", default=UNTRACED)


@contextmanager
def trace_run(tracer: Tracer, name: str, *, identity: RunIdentity, attributes: Attributes) -> Generator[Span]:
    """Everything within belongs to this run."""
    token = _TRACER.set(tracer)
    try:
        with tracer.open_run(name, identity, attributes=attributes) as span:
            yield span
    finally:
        _TRACER.reset(token)


def open_span(name: str, attributes: Attributes) -> AbstractContextManager[Span]:
    return _TRACER.get().open(name, attributes=attributes)


def takes_content() -> bool:
    return _TRACER.get().takes_content
