"""The only place that touches google-re2, which ships no types: linear-time regular expressions over UTF-8 bytes."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import re2  # pyright: ignore[reportMissingTypeStubs]  # there are none; this module is the typed face of it

_re2: Any = re2
_PATTERN_MEMORY = 8 << 20
_SET_MEMORY = 64 << 20
_LONGEST_REASON = 300

_UNANCHORED: Any = _re2._Anchor.UNANCHORED  # noqa: SLF001  # see Regex

RegexError: type[Exception] = _re2.error


Spans = Sequence[tuple[int, int]]
"""Where a match is, then where its groups are: (-1, -1) for one that took no part."""


class Regex:
    """One compiled pattern. Raises RegexError when RE2 refuses it."""

    __slots__ = ("_match", "groups", "named_groups")

    def __init__(self, pattern: str) -> None:
        compiled: Any = _re2.compile(pattern, _options(_PATTERN_MEMORY))
        # What the library wraps: its own objects and generators around a match take longer than finding it.
        self._match: Any = compiled._regexp.Match  # noqa: SLF001
        self.groups: int = compiled.groups
        self.named_groups: Mapping[str, int] = compiled.groupindex

    def find_first(self, data: bytes, start: int = 0, stop: int | None = None) -> Spans | None:
        """The first match that lies between start and stop. What stands before still tells where a word begins."""
        end = len(data) if stop is None or stop > len(data) else stop
        if start > end:
            return None
        spans: Spans = self._match(_UNANCHORED, data, start, end)
        return None if spans[0][0] == -1 else spans

    def find(self, data: bytes, start: int = 0, stop: int | None = None) -> Iterator[Spans]:
        """All of them, one behind the other."""
        while spans := self.find_first(data, start, stop):
            yield spans
            # Behind an empty match the next could only be the same.
            start = max(spans[0][1], start + 1)


class RegexSet:
    """Many patterns, asked in one pass which of them occur at all."""

    __slots__ = ("_sentinel", "_set")

    def __init__(self, patterns: Sequence[str], *, memory: int = _SET_MEMORY) -> None:
        self._set: Any = _re2.Set.SearchSet(_options(memory))
        for pattern in patterns:
            self._set.Add(pattern)
        # The set reports running out of memory as "nothing occurs". The empty pattern always occurs, so its absence
        # tells the two apart.
        self._sentinel: int = self._set.Add("")
        self._set.Compile()

    def hits(self, data: bytes) -> Sequence[int] | None:
        """Indexes of the patterns that occur, in order; None when the set could not tell."""
        found: list[int] = self._set.Match(data) or []
        found.sort()
        # It was added last.
        return None if not found or found.pop() != self._sentinel else found


def explain_refusal(pattern: str) -> str | None:
    """Why RE2 will not take the pattern, or None when it will."""
    try:
        Regex(pattern)
    except UnicodeEncodeError:
        return "not valid text"
    except RegexError as error:
        reason: object = error.args[0] if error.args else "refused"
        return (reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason))[:_LONGEST_REASON]
    return None


def _options(memory: int) -> Any:
    options = _re2.Options()
    options.max_mem = memory
    options.log_errors = False
    return options
