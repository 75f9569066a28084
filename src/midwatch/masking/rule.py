"""One rule of a mask: where it may have something to do, and which parts of the text it hides. On UTF-8 bytes."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from midwatch.masking.regex import Regex, Spans
from midwatch.masking.windows import OVERLAP, Window

_PLACEHOLDER = re.compile(rb"\[MASKED_[A-Z][A-Z0-9_]{0,39}\]")
_LONGEST_PLACEHOLDER = 50
_LONGEST_KEY = 160
_BELOW = 64 * 1024
"""Bytes below its line that a match may reach."""
_REFERENCE = re.compile(r"\$(?:(\w+)|\{(\w+)\}|(\$))")

Span = tuple[int, int]
Edit = tuple[Span, bytes]
"""What gives way, and to what."""
Find = Callable[[bytes, Sequence[Window]], Iterable[Edit]]
Measure = Callable[[bytes, bytes], int]
"""Of what stands before a value and the value: how many bytes of it are secret. 0: it only looks like a secret."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    name: str
    gate: str
    """A pattern that occurs in a window wherever the rule has anything to do there."""
    find: Find
    """What to hide of whatever shows itself in the windows, which are in order."""
    placeholder: str
    """What is left behind, as it is written down: nothing of the text is in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """What its groups hold is hidden, the rest of a match stays."""

    regex: str
    tag: str
    measure: Measure | None = None
    gate: str | None = None
    """Looked for everywhere in its place: it holds wherever the pattern does, needs little text, and is cheaper."""
    spans_lines: bool = False
    """The gate holds in one window, the match may go on below it."""

    @property
    def placeholder(self) -> str:
        return f"[MASKED_{self.tag}]"


def hiding(name: str, pattern: Pattern) -> Rule:
    """Hides what the pattern's groups hold and keeps the rest of the match."""
    regex, placeholder = Regex(pattern.regex), pattern.placeholder.encode()

    def find(data: bytes, windows: Sequence[Window]) -> Iterator[Edit]:
        within = _reach_below(data, windows) if pattern.spans_lines else windows
        for _, *groups in find_matches(regex, data, windows=within):
            for start, stop in groups:
                if start < stop and (end := _measure(pattern, data, (start, stop))) > start:
                    yield (start, end), placeholder

    return Rule(name=name, gate=pattern.gate or pattern.regex, find=find, placeholder=pattern.placeholder)


def replacing(name: str, pattern: str, *, replacement: str) -> Rule:
    """An operator's rule: the whole match gives way to the replacement, in which `$1` or `${name}` is a group."""
    regex = Regex(pattern)
    parts = _parse_template(replacement, regex)

    def find(data: bytes, windows: Sequence[Window]) -> Iterator[Edit]:
        for window in windows:
            for spans in regex.find(data, window.start, window.limit):
                start, stop = spans[0]
                if start < stop and not is_masked(data, (start, stop)):
                    pieces = (part if isinstance(part, bytes) else data[slice(*spans[part])] for part in parts)
                    yield (start, stop), b"".join(pieces)

    return Rule(name=name, gate=pattern, find=find, placeholder=replacement)


def find_matches(regex: Regex, data: bytes, *, windows: Iterable[Window]) -> Iterator[Spans]:
    """Matches that begin in the windows, each once and as long as it would be in the whole line."""
    done = 0
    for window in windows:
        at, reach = max(window.start, done), min(window.limit, window.stop + OVERLAP)
        while at < window.stop and (spans := regex.find_first(data, at, reach)):
            start, stop = spans[0]
            if start >= window.stop:
                break
            if stop == reach < window.limit:
                reach = min(window.limit, reach + max(OVERLAP, 2 * (reach - start)))
                continue
            yield spans
            at = done = max(stop, at + 1)


def _measure(pattern: Pattern, data: bytes, span: Span) -> int:
    """Where the secret ends."""
    start, stop = span
    if pattern.measure is not None:
        stop = start + pattern.measure(data[max(0, start - _LONGEST_KEY) : start], data[start:stop])
    return start if is_masked(data, (start, stop)) else stop


def _reach_below(data: bytes, windows: Iterable[Window]) -> Iterator[Window]:
    for window in windows:
        yield window._replace(limit=min(len(data), window.limit + _BELOW))


def is_masked(data: bytes, span: Span) -> bool:
    """The span lies inside one placeholder."""
    start, stop = span
    begin = data.rfind(b"[", max(0, start - _LONGEST_PLACEHOLDER), start + 1)
    placeholder = _PLACEHOLDER.match(data, begin) if begin != -1 else None
    return placeholder is not None and placeholder.end() >= stop


def _parse_template(template: str, regex: Regex) -> Sequence[bytes | int]:
    """Literal bytes and group numbers. A group that does not exist is empty, as in Go."""
    parts: list[bytes | int] = []
    end = 0
    for reference in _REFERENCE.finditer(template):
        parts.append(template[end : reference.start()].encode())
        end = reference.end()
        parts.append(b"$" if reference[3] else _group_number(reference[1] or reference[2], regex))
    return [*parts, template[end:].encode()]


def _group_number(name: str, regex: Regex) -> int | bytes:
    number = int(name) if name.isdecimal() else regex.named_groups.get(name, -1)
    return number if 0 <= number <= regex.groups else b""
