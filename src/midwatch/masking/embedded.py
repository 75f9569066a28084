"""Whole texts within texts: YAML or `env` as one string of JSON, whose lines are lines only to whoever reads it."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from midwatch.masking.assignments import TELLING_NAME
from midwatch.masking.edits import Found
from midwatch.masking.regex import Regex
from midwatch.masking.windows import Window

_LINE = r"\\n[ \t]*(?:-[ ]+)*"
EMBEDDED_GATE = (
    rf"""{_LINE}(?:kind:[ \t]*\\*["']?Secret|(?:name|key):[ \t]*\\*["']?{TELLING_NAME}\\*["']?\\+n"""
    rf"""|(?:export[ \t]+)?{TELLING_NAME}(?:[ \t]*=|:)[ \t]*[^\s\\])|kind:[ \t]*Secret(?:List)?\\+n"""
)
"""A line that says more in its place than on its own."""

_GATE = Regex(EMBEDDED_GATE)
_REST_OF_STRING = re.compile(rb'(?:[^"\\\n]|\\.)*+')
_ESCAPE = re.compile(rb"\\(.)")
_MEANING = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b'"': b'"', b"\\": b"\\", b"/": b"/"}


@dataclass(frozen=True, slots=True)
class Embedded:
    text: bytes
    inner: Sequence[int]
    outer: Sequence[int]
    """Where in the text around it the pieces begin that begin at `inner`."""

    def place(self, found: Found) -> Found:
        return found._replace(start=self._locate(found.start), stop=self._locate(found.stop))

    def _locate(self, position: int) -> int:
        piece = bisect_right(self.inner, position) - 1
        return self.outer[piece] + position - self.inner[piece]


def find_embedded(data: bytes, windows: Sequence[Window]) -> Iterator[Embedded]:
    done = 0
    for window in windows:
        for (at, _), *_ in _GATE.find(data, max(window.start, done), window.stop):
            if at >= done:
                start = _find_start(data, at, after=done)
                found = _REST_OF_STRING.match(data, start)
                done = max(found.end() if found else start, at + 1)
                yield _read(data, start, done)


def _find_start(data: bytes, at: int, *, after: int) -> int:
    """Behind the quote that opens the string, or where the line begins."""
    line = max(after, data.rfind(b"\n", after, at) + 1)
    quote = at + 1
    while (quote := data.rfind(b'"', line, quote)) != -1:
        before = data[max(line, quote - 20) : quote]
        if (len(before) - len(before.rstrip(b"\\"))) % 2 == 0:
            return quote + 1
    return line


def _read(data: bytes, start: int, stop: int) -> Embedded:
    pieces: list[bytes] = []
    inner, outer = [0], [start]
    length, end = 0, start
    for escape in _ESCAPE.finditer(data, start, stop):
        meaning = _MEANING.get(escape[1])
        if meaning is not None:
            pieces += (data[end : escape.start()], meaning)
            length += escape.start() - end + 1
            end = escape.end()
            inner.append(length)
            outer.append(end)
    return Embedded(b"".join((*pieces, data[end:stop])), inner, outer)
