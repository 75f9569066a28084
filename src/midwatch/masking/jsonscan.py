"""Reads JSON by its signs, wherever in a text it stands and however it is cut off, for objects that hold `data`."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_TOKEN = re.compile(rb'"(?:[^"\\\n]|\\.)*+(?:"|(?=\n)|\Z)|[{}\[\]]')
_COLON = re.compile(rb"\s*:")
_HELD = (b'"data"', b'"stringData"')

Span = tuple[int, int]


@dataclass(slots=True)
class Holder:
    """An object of JSON, as far as it was read."""

    key: bytes = b""
    kind: bytes | None = None
    owner: "Holder | None" = None
    """The object in whose `data` this one is."""
    values: list[Span] = field(default_factory=list[Span])
    """Of the texts in its data: what is between the quotes."""
    undecided: list[Span] = field(default_factory=list[Span])
    """Such texts of objects within that do not say what they are."""


def scan_objects(data: bytes, *, start: int, stop: int) -> Iterator[Holder]:
    """Every object that holds data, when it ends or the text does; what is undecided comes up to the outermost."""
    stack: list[Holder] = [Holder()]
    for token in _TOKEN.finditer(data, start, stop):
        match token[0]:
            case b"{" | b"[":
                around = stack[-1]
                owner = around if around.owner is None and around.key in _HELD else around.owner
                stack.append(Holder(key=around.key if token[0] == b"[" else b"", owner=owner))
            case b"}" | b"]" if len(stack) > 1:
                yield from _close(stack)
            case b"}" | b"]":
                stack = [Holder()]
            case text:
                _read_text(stack, text, span=(token.start() + 1, token.end() - text.endswith(b'"', 1)), data=data)
    while len(stack) > 1:
        yield from _close(stack)
    yield stack[0]


def _read_text(stack: list[Holder], text: bytes, *, span: Span, data: bytes) -> None:
    holder = stack[-1]
    if _COLON.match(data, span[1] + 1):
        holder.key = text
    elif holder.owner is not None:
        holder.owner.values.append(span)
    elif holder.key == b'"kind"':
        holder.kind = text.strip(b'"')


def _close(stack: list[Holder]) -> Iterator[Holder]:
    holder = stack.pop()
    if holder.kind is None:
        # Into the longer of the two: nested a thousand times, they would be copied a thousand times.
        few, many = sorted((stack[-1].undecided, holder.undecided), key=len)
        many += few + holder.values
        stack[-1].undecided = many
    elif holder.values or holder.undecided:
        yield holder
