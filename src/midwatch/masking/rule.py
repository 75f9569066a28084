"""One rule of a mask: when it applies, and how it rewrites the text. Works on UTF-8 bytes."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from midwatch.masking.patterns import Pattern
from midwatch.masking.regex import Match, Regex

_PLACEHOLDER = re.compile(rb"\[MASKED_[A-Z][A-Z0-9_]{0,39}\]")
_LONGEST_PLACEHOLDER = 50
_BARE_JSON_VALUE = re.compile(rb'(?<!\\)"[ \t]*:[ \t]*\Z')
_REFERENCE = re.compile(r"\$(?:(\w+)|\{(\w+)\}|(\$))")

Span = tuple[int, int]
Edit = tuple[Span, bytes]
"""What gives way, and to what."""
Find = Callable[[bytes], Iterable[Edit]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    name: str
    gate: str
    """A pattern that occurs wherever the rule has anything to do."""
    apply: Callable[[bytes], bytes]
    repeats: bool = True
    """Applied again until nothing changes: one placeholder may lay bare the edge of the next secret."""
    find: Find | None = None
    """What `apply` would change, in order, for rules that know it beforehand."""
    placeholder: str = ""
    """What it leaves behind, as it is written down: nothing of the text is in it."""


def hiding(name: str, pattern: Pattern) -> Rule:
    """Hides what the pattern's groups hold and keeps the rest of the match."""
    regex = Regex(pattern.regex)
    groups = range(1, regex.groups + 1)
    placeholder = pattern.placeholder.encode()

    def rewrite(data: bytes, match: Match) -> list[Edit]:
        spans = sorted(span for group in groups if (span := match.span(group)) != (-1, -1))
        return [(span, _fitting(placeholder, data, span)) for span in spans]

    def find(data: bytes) -> Iterator[Edit]:
        return _find_edits(data, regex, rewrite)

    return Rule(
        name=name,
        gate=pattern.regex,
        apply=lambda data: apply_edits(data, find(data)),
        find=find,
        placeholder=pattern.placeholder,
    )


def replacing(name: str, pattern: str, *, replacement: str) -> Rule:
    """An operator's rule: the whole match gives way to the replacement, in which `$1` or `${name}` is a group."""
    regex = Regex(pattern)
    parts = _parse_template(replacement, regex)

    def rewrite(data: bytes, match: Match) -> list[Edit]:
        pieces = (part if isinstance(part, bytes) else _group(data, match, part) for part in parts)
        return [(match.span(), b"".join(pieces))]

    def find(data: bytes) -> Iterator[Edit]:
        return _find_edits(data, regex, rewrite)

    return Rule(
        name=name,
        gate=pattern,
        apply=lambda data: apply_edits(data, find(data)),
        repeats=False,
        find=find,
        placeholder=replacement,
    )


def apply_edits(data: bytes, edits: Iterable[Edit]) -> bytes:
    pieces: list[bytes] = []
    end = 0
    for (start, stop), replacement in edits:
        pieces += (data[end:start], replacement)
        end = stop
    return b"".join((*pieces, data[end:])) if pieces else data


def _find_edits(data: bytes, regex: Regex, rewrite: Callable[[bytes, Match], list[Edit]]) -> Iterator[Edit]:
    for match in regex.find(data):
        for edit in rewrite(data, match):
            start, stop = edit[0]
            if start < stop and not _is_masked(data, start, stop):
                yield edit


def _is_masked(data: bytes, start: int, stop: int) -> bool:
    """The span lies inside one placeholder."""
    begin = data.rfind(b"[", max(0, start - _LONGEST_PLACEHOLDER), start + 1)
    placeholder = _PLACEHOLDER.match(data, begin) if begin != -1 else None
    return placeholder is not None and placeholder.end() >= stop


def _fitting(placeholder: bytes, data: bytes, span: Span) -> bytes:
    """A JSON value that had no quotes, such as a number, needs them now."""
    before = data[max(0, span[0] - 16) : span[0]]
    return b'"' + placeholder + b'"' if _BARE_JSON_VALUE.search(before) else placeholder


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


def _group(data: bytes, match: Match, number: int) -> bytes:
    start, stop = match.span(number)
    return data[start:stop] if start != -1 else b""
