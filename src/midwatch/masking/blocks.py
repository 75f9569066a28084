"""Keys and certificates of many lines: hidden from BEGIN to END, and as far as they go where one of them is cut off."""

import re
from collections.abc import Callable, Iterator, Sequence

from midwatch.masking.regex import Regex
from midwatch.masking.rule import Edit, Rule
from midwatch.masking.windows import Window

_KEY_LABEL = r"[A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?[ ]?----"
_MOST = 64 * 1024
"""Bytes between BEGIN and END that need not look like a key."""
_LONGEST_TAIL = 512 * 1024
_LONGEST_LABEL = 100
_WORDS = re.compile(rb"(?:(?:[ \t]|\\+[rnt])*+[A-Za-z0-9+/=]{16,}+)*+(?:(?:[ \t]|\\+[rnt])*+[A-Za-z0-9+/=]*+)")
_LINE = re.compile(
    rb"\r?\n[ \t|>*#/]*+(?:[A-Za-z0-9+/=]*+(?:\\+[rn][A-Za-z0-9+/=]*+)*+|[A-Za-z-]++: [^\n\\]*+)"
    rb"[ \t]*+(?=\r?\n|\Z|-----|[\"'])"
)
_CUT_LINE = re.compile(rb"\r?\n[ \t|>*#/]*+[A-Za-z0-9+/=]{16,}+")
_TAIL = Regex(r"(?:[A-Za-z0-9+/=]{16,}(?:\s|\\+[rn]|[|>])*)*[A-Za-z0-9+/=]*(?:\s|\\+[rn]|[|>])*\z")

PRIVATE_KEY_GATE = rf"---- ?(?:BEGIN|END) {_KEY_LABEL}"
CERTIFICATE_GATE = r"-----BEGIN [A-Z0-9 ]+-----"


def hide_private_keys(name: str, placeholder: str) -> Rule:
    marker, end = (Regex(rf"-----? ?(?:BEGIN|END) {_KEY_LABEL}-?"), Regex(rf"-----? ?END {_KEY_LABEL}-?"))

    def find(data: bytes, windows: Sequence[Window]) -> Iterator[Edit]:
        done = 0
        for start, stop in _find_markers(marker, data, windows):
            if start < done:
                continue
            if b"END " in data[start : start + 10]:
                tail = data[max(done, start - _LONGEST_TAIL) : start]
                begin = start - len(tail) + next(_TAIL.find(tail))[0][0]
                done = stop
            else:
                begin, done = (start, _find_end(data, stop, end=end) or _skip_body(data, stop, end=end))
            yield (begin, done), placeholder.encode()

    return Rule(name=name, gate=PRIVATE_KEY_GATE, find=find, placeholder=placeholder)


def hide_certificates(name: str, placeholder: str) -> Rule:
    """Whatever stands between BEGIN and END. Without an end it is no secret that could be lost."""
    marker, end = Regex(CERTIFICATE_GATE), Regex(r"-----END [A-Z0-9 ]+-----")

    def find(data: bytes, windows: Sequence[Window]) -> Iterator[Edit]:
        done = 0
        for start, stop in _find_markers(marker, data, windows):
            if start >= done and (found := _find_end(data, stop, end=end) or _reach_end(data, stop, end=end)):
                done = found
                yield (start, done), placeholder.encode()

    return Rule(name=name, gate=CERTIFICATE_GATE, find=find, placeholder=placeholder)


def _find_markers(marker: Regex, data: bytes, windows: Sequence[Window]) -> Iterator[tuple[int, int]]:
    for window in windows:
        for spans in marker.find(data, window.start, window.stop + _LONGEST_LABEL):
            yield spans[0]


def _find_end(data: bytes, at: int, *, end: Regex) -> int | None:
    """Where the block is over, if that is near and no other block begins before."""
    nearest = data.find(b"-BEGIN ", at, at + _MOST)
    found = end.find_first(data, at, nearest if nearest != -1 else at + _MOST)
    return None if found is None else found[0][1]


def _reach_end(data: bytes, at: int, *, end: Regex) -> int | None:
    body = _skip_lines(data, at)
    found = end.find_first(data, body, body + _LONGEST_LABEL)
    return found[0][1] if found is not None and not data[body : found[0][0]].strip() else None


def _skip_body(data: bytes, at: int, *, end: Regex) -> int:
    return _reach_end(data, at, end=end) or _skip_lines(data, at)


def _skip_lines(data: bytes, at: int) -> int:
    """Over all that looks like a key, its headers, and what quotes it line by line."""
    at = _end_of(_WORDS.match, data, at)
    while line := _LINE.match(data, at):
        at = line.end()
    cut = _CUT_LINE.match(data, at)
    return cut.end() if cut else at


def _end_of(match: Callable[[bytes, int], re.Match[bytes] | None], data: bytes, at: int) -> int:
    found = match(data, at)
    return found.end() if found else at
