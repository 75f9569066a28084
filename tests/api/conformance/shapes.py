"""Shapes of the wire: which fields an answer must have, and of which kind. More fields than these may be there."""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any, cast
from uuid import UUID

Fault = tuple[str, object]
Kind = Callable[[Any], Iterator[Fault]]
Fields = Mapping[str, Kind]


def check(value: object, kind: Kind) -> None:
    faults = [f"{place or 'the answer'}: {found!r}" for place, found in kind(value)]
    assert not faults, "\n".join(faults)


def _be(test: Callable[[Any], bool]) -> Kind:
    def examine(value: Any) -> Iterator[Fault]:
        if not test(value):
            yield "", value

    return examine


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_moment(value: Any) -> bool:
    """RFC 3339 with a zone, which a client reads without knowing ours."""
    try:
        return "T" in value and datetime.fromisoformat(value).tzinfo is not None
    except (TypeError, ValueError):
        return False


def _is_id(value: Any) -> bool:
    try:
        return isinstance(value, str) and str(UUID(value)) == value
    except ValueError:
        return False


TEXT = _be(lambda value: isinstance(value, str))
WORD = _be(lambda value: isinstance(value, str) and value != "")
EMPTY = _be(lambda value: value == "")
NUMBER = _be(_is_number)
COUNTED = _be(lambda value: _is_number(value) and value >= 1)
"""From one."""
AMOUNT = _be(lambda value: isinstance(value, int | float) and not isinstance(value, bool) and value >= 0)
FLAG = _be(lambda value: isinstance(value, bool))
MOMENT = _be(_is_moment)
ID = _be(_is_id)
ANYTHING = _be(lambda _: True)


def one_of(*words: str) -> Kind:
    return _be(lambda value: value in words)


def maybe(kind: Kind) -> Kind:
    """Null is also an answer."""
    return lambda value: iter(()) if value is None else kind(value)


class Absent:
    """A kind of a field that an answer may lack."""

    def __init__(self, kind: Kind) -> None:
        self.kind = maybe(kind)

    def __call__(self, value: Any) -> Iterator[Fault]:
        return self.kind(value)


def some(kind: Kind, *, least: int = 0) -> Kind:
    def examine(value: Any) -> Iterator[Fault]:
        if not isinstance(value, list) or len(cast("list[Any]", value)) < least:
            yield "", value
            return
        for number, item in enumerate(cast("list[Any]", value)):
            yield from _inside(f"[{number}]", kind(item))

    return examine


def having(**fields: Kind) -> Kind:
    def examine(value: Any) -> Iterator[Fault]:
        if not isinstance(value, dict):
            yield "", value
            return
        found = cast("dict[str, Any]", value)
        for name, kind in fields.items():
            if name in found:
                yield from _inside(f".{name}", kind(found[name]))
            elif not isinstance(kind, Absent):
                yield f".{name}", "(missing)"

    return examine


def _inside(place: str, faults: Iterator[Fault]) -> Iterator[Fault]:
    return ((f"{place}{deeper}", found) for deeper, found in faults)
