"""What was really done: the calls of a session as the journal knows them, for comparing words with."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, cast

from midwatch.domain.tools import ToolKind
from midwatch.safety.machine import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Deed:
    """One call the model asked for, and what came of it."""

    tool: str
    """`server.tool`"""
    kind: ToolKind
    outcome: Outcome
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """As they were sent, masked or not."""
    targets: tuple[str, ...] = ()
    """By their ids, as the gate resolved them."""
    at: datetime | None = None
    """When it ended."""

    @property
    def is_done(self) -> bool:
        """A change that was made, as far as anybody can tell."""
        return self.kind is ToolKind.WRITE and self.outcome is Outcome.SUCCEEDED

    def texts(self) -> Iterator[str]:
        """All that its arguments say, without the names of the fields."""
        return _texts_in(self.arguments)


def _texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for item in cast("Mapping[str, Any]", value).values():
            yield from _texts_in(item)
    elif isinstance(value, list | tuple):
        for item in cast("list[Any]", value):
            yield from _texts_in(item)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield str(value)
