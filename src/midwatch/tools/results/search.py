"""Finds places in a long result, as `grep` would: numbered lines with their neighbours. Pure."""

import string
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from midwatch.masking.regex import Regex, RegexError, explain_refusal
from midwatch.tools.results.bounds import MOST_CHARACTERS, Unanswerable

_LONG_LINE = 400
"""Bytes; of a longer line only what is around the match is shown."""
_AROUND = 150
_MOST_HITS = 10_000
_QUOTED = frozenset(string.punctuation) - {"_"}


@dataclass(frozen=True, slots=True)
class _Hit:
    line: int
    start: int
    """Of the match, in bytes from the beginning of the text."""
    end: int


def search(
    content: str,
    *,
    text: str | None = None,
    pattern: str | None = None,
    ignore_case: bool = False,
    context: int = 2,
    limit: int = 20,
    skip: int = 0,
) -> str:
    """Raises Unanswerable."""
    regex = _compile(text, pattern, ignore_case=ignore_case)
    document = _Document.read(content)
    hits = list(document.find(regex))
    if len(hits) <= skip:
        return f"{_count(hits)} in {len(document.lines):,} lines."
    shown, blocks = _render(document, hits, context=context, limit=limit, skip=skip)
    told = f"{_count(hits)} in {len(document.lines):,} lines; these are {skip + 1} to {skip + shown}"
    more = f" (go on with skip={skip + shown})" if skip + shown < len(hits) else ""
    return f"{told}{more}:\n{blocks}"


def _compile(text: str | None, pattern: str | None, *, ignore_case: bool) -> Regex:
    if bool(text) == bool(pattern):
        raise Unanswerable("give either text, which is searched for as it is, or pattern, which is RE2")
    wanted = pattern or "".join(f"\\{each}" if each in _QUOTED else each for each in text or "")
    flags = "mi" if ignore_case else "m"
    try:
        return Regex(f"(?{flags}){wanted}")
    except (RegexError, UnicodeEncodeError):
        raise Unanswerable(f"the pattern is refused: {explain_refusal(wanted)}") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Document:
    data: bytes
    lines: Sequence[bytes]
    starts: Sequence[int]

    @classmethod
    def read(cls, content: str) -> "_Document":
        data = content.encode()
        lines = data.split(b"\n")
        starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
        return cls(data=data, lines=lines, starts=starts[:-1])

    def find(self, regex: Regex) -> Iterator[_Hit]:
        """A short line counts once; in a long one every match does that stands apart from the one before."""
        found, covered = 0, 0
        for (start, end), *_ in regex.find(self.data):
            if start == end or start < covered:
                continue
            line = bisect_right(self.starts, start) - 1
            covered = end + _AROUND if self.is_long(line) else self.starts[line] + len(self.lines[line])
            yield _Hit(line, start, end)
            found += 1
            if found == _MOST_HITS:
                return

    def is_long(self, line: int) -> bool:
        return len(self.lines[line]) > _LONG_LINE

    def show_line(self, line: int) -> str:
        content = self.lines[line]
        return _decode(content) if len(content) <= _LONG_LINE else f"{_decode(content[:_AROUND])}…"

    def show_hit(self, hit: _Hit) -> str:
        if not self.is_long(hit.line):
            return f"{hit.line + 1}: {self.show_line(hit.line)}"
        first, last = self.starts[hit.line], self.starts[hit.line] + len(self.lines[hit.line])
        begin, end = max(hit.start - _AROUND, first), min(hit.end + _AROUND, hit.start + _LONG_LINE, last)
        place = f"{hit.line + 1}, character {len(_decode(self.data[first : hit.start])) + 1:,}"
        before, after = "…" if begin > first else "", "…" if end < last else ""
        return f"{place}: {before}{_decode(self.data[begin:end])}{after}"


def _render(document: _Document, hits: Sequence[_Hit], *, context: int, limit: int, skip: int) -> tuple[int, str]:
    """How many of the hits are shown, and how."""
    rows: list[str] = []
    size, upto, shown = 0, -1, 0
    for number, hit in enumerate(hits[skip : skip + limit], start=skip):
        following = hits[number + 1].line if number + 1 < len(hits) else len(document.lines)
        first = max(hit.line - context, upto + 1)
        last = min(hit.line + context, following - 1, len(document.lines) - 1)
        block = ["--"] if 0 <= upto < first - 1 else []
        block += [f"{line + 1}- {document.show_line(line)}" for line in range(first, hit.line)]
        block.append(document.show_hit(hit))
        block += [f"{line + 1}- {document.show_line(line)}" for line in range(hit.line + 1, last + 1)]
        size += sum(len(row) + 1 for row in block)
        if shown and size > MOST_CHARACTERS:
            break
        rows += block
        shown, upto = shown + 1, max(hit.line, last)
    return shown, "\n".join(rows)[:MOST_CHARACTERS]


def _count(hits: Sequence[_Hit]) -> str:
    if not hits:
        return "Nothing found"
    return f"{'at least ' if len(hits) == _MOST_HITS else ''}{len(hits):,} found"


def _decode(data: bytes) -> str:
    """A cut may go through a character."""
    return data.decode(errors="ignore")
